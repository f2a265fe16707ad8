package simulator_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
)

// patience is how long something may take here; step is how often it is looked at.
const (
	patience = 10 * time.Second
	step     = 10 * time.Millisecond
)

func TestTerraformVPC(tt *testing.T) {
	t := newTerraform(tt)
	vpc, _, err := t.api.VPCs.Create(t.ctx, &godo.VPCCreateRequest{Name: "net", RegionSlug: "nyc3"})
	require.NoError(t, err)
	db, _, err := t.api.Databases.Create(t.ctx, &godo.DatabaseCreateRequest{Name: "member", EngineSlug: "pg", Region: "nyc3",
		SizeSlug: "db-s-1vcpu-1gb", NumNodes: 1, PrivateNetworkUUID: vpc.ID})
	require.NoError(t, err)
	_, _, err = t.api.VPCs.Update(t.ctx, vpc.ID, &godo.VPCUpdateRequest{Name: "net", Description: "later", Default: godo.PtrTo(false)})
	require.NoError(t, err)
	read, _, err := t.api.VPCs.Get(t.ctx, vpc.ID)
	require.NoError(t, err)
	require.Equal(t, "later", read.Description)
	require.Equal(t, vpc.IPRange, read.IPRange)
	require.False(t, read.Default)

	// A destroy deletes the member, then tries the VPC until the member has left it.
	_, err = t.api.Databases.Delete(t.ctx, db.ID)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		response, err := t.api.VPCs.Delete(t.ctx, vpc.ID)
		if err != nil {
			require.Contains(t, []int{http.StatusForbidden, http.StatusConflict}, response.StatusCode)
		}
		return err == nil
	}, patience, step)
}

func TestTerraformProject(tt *testing.T) {
	t := newTerraform(tt)
	project, _, err := t.api.Projects.Create(t.ctx, &godo.CreateProjectRequest{Name: "shop", Purpose: "Web Application"})
	require.NoError(t, err)
	before, _, err := t.api.Projects.GetDefault(t.ctx)
	require.NoError(t, err)
	volume, _, err := t.api.Storage.CreateVolume(t.ctx, &godo.VolumeCreateRequest{Region: "nyc3", Name: "data", SizeGigaBytes: 1})
	require.NoError(t, err)
	_, _, err = t.api.Projects.AssignResources(t.ctx, project.ID, volume.URN())
	require.NoError(t, err)
	resources, _, err := t.api.Projects.ListResources(t.ctx, project.ID, &godo.ListOptions{Page: 1, PerPage: 200})
	require.NoError(t, err)
	require.Len(t, resources, 1)
	require.Equal(t, volume.URN(), resources[0].URN)

	// Every field is sent, the empty environment too.
	changed, _, err := t.api.Projects.Update(t.ctx, project.ID, &godo.UpdateProjectRequest{Name: "shop", Description: "",
		Purpose: "Web Application", Environment: "", IsDefault: false})
	require.NoError(t, err)
	require.Empty(t, changed.Environment)
	_, err = t.api.Projects.Delete(t.ctx, project.ID)
	require.ErrorContains(t, err, "cannot delete a project with resources")
	_, _, err = t.api.Projects.AssignResources(t.ctx, before.ID, volume.URN())
	require.NoError(t, err)
	_, err = t.api.Projects.Delete(t.ctx, project.ID)
	require.NoError(t, err)
}

func TestTerraformVolume(tt *testing.T) {
	t := newTerraform(tt)
	volume, _, err := t.api.Storage.CreateVolume(t.ctx, &godo.VolumeCreateRequest{Region: "nyc3", Name: "data", SizeGigaBytes: 10})
	require.NoError(t, err)
	action, _, err := t.api.StorageActions.Resize(t.ctx, volume.ID, 20, "nyc3")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		seen, _, err := t.api.Actions.Get(t.ctx, action.ID)
		require.NoError(t, err)
		return seen.CompletedAt != nil
	}, patience, step)
	grown, _, err := t.api.Storage.GetVolume(t.ctx, volume.ID)
	require.NoError(t, err)
	require.EqualValues(t, 20, grown.SizeGigaBytes)
	require.Empty(t, grown.FilesystemType, "a filesystem that nobody asked for would be planned away")
}

func TestTerraformUptime(tt *testing.T) {
	t := newTerraform(tt)
	check, _, err := t.api.UptimeChecks.Create(t.ctx, &godo.CreateUptimeCheckRequest{Name: "home", Target: "https://example.com",
		Type: "https", Enabled: true, Regions: []string{"eu_west"}})
	require.NoError(t, err)
	asked := &godo.CreateUptimeAlertRequest{Name: "down", Type: "down", Period: "2m",
		Notifications: &godo.Notifications{Email: []string{"sammy@example.com"}}}
	alert, _, err := t.api.UptimeChecks.CreateAlert(t.ctx, check.ID, asked)
	require.NoError(t, err)
	read, _, err := t.api.UptimeChecks.GetAlert(t.ctx, check.ID, alert.ID)
	require.NoError(t, err)
	require.Zero(t, read.Threshold)
	require.Empty(t, read.Comparison)
	require.Empty(t, read.Notifications.Slack)
	require.Equal(t, asked.Notifications.Email, read.Notifications.Email)
	_, _, err = t.api.UptimeChecks.Update(t.ctx, check.ID, &godo.UpdateUptimeCheckRequest{Name: "home", Target: "https://example.com",
		Type: "https", Enabled: false, Regions: []string{"us_east"}})
	require.NoError(t, err)
	again, _, err := t.api.UptimeChecks.Get(t.ctx, check.ID)
	require.NoError(t, err)
	require.False(t, again.Enabled)
	require.Equal(t, []string{"us_east"}, again.Regions)
}

func TestTerraformSpacesKey(tt *testing.T) {
	t := newTerraform(tt)
	key, _, err := t.api.SpacesKeys.Create(t.ctx, &godo.SpacesKeyCreateRequest{Name: "assets",
		Grants: []*godo.Grant{{Bucket: "b", Permission: godo.SpacesKeyRead}, {Bucket: "a", Permission: godo.SpacesKeyReadWrite}}})
	require.NoError(t, err)
	// Terraform finds its key by listing all.
	all, response, err := t.api.SpacesKeys.List(t.ctx, &godo.ListOptions{Page: 1, PerPage: 200})
	require.NoError(t, err)
	require.True(t, response.Links == nil || response.Links.IsLastPage())
	require.Len(t, all, 1)
	require.Equal(t, key.Grants, all[0].Grants, "grants are a list: their order counts")
	renamed, _, err := t.api.SpacesKeys.Update(t.ctx, key.AccessKey, &godo.SpacesKeyUpdateRequest{Name: "other", Grants: key.Grants})
	require.NoError(t, err)
	require.Equal(t, "other", renamed.Name)
	_, err = t.api.SpacesKeys.Delete(t.ctx, key.AccessKey)
	require.NoError(t, err)
}

func TestTerraformApp(tt *testing.T) {
	t := newTerraform(tt)
	spec := &godo.AppSpec{Name: "shop", Region: "nyc", Services: []*godo.AppServiceSpec{{Name: "web",
		Image: &godo.ImageSourceSpec{RegistryType: godo.ImageSourceSpecRegistryType_DockerHub, Registry: "library",
			Repository: "nginx", Tag: "1"}, InstanceCount: 1, InstanceSizeSlug: "apps-s-1vcpu-0.5gb", HTTPPort: 80}}}
	app, _, err := t.api.Apps.Create(t.ctx, &godo.AppCreateRequest{Spec: spec})
	require.NoError(t, err)
	deployed := func() string {
		t.Helper()
		// The newest deployment comes first and counts as done with all its steps.
		all, _, err := t.api.Apps.ListDeployments(t.ctx, app.ID, &godo.ListOptions{PerPage: 20})
		require.NoError(t, err)
		require.NotEmpty(t, all)
		require.Eventually(t, func() bool {
			d, _, err := t.api.Apps.GetDeployment(t.ctx, app.ID, all[0].ID)
			require.NoError(t, err)
			require.NotNil(t, d.Progress)
			require.NotEmpty(t, d.Progress.Steps)
			for _, s := range d.Progress.Steps {
				if s.Status != godo.DeploymentProgressStepStatus_Success {
					return false
				}
			}
			return true
		}, patience, step)
		return all[0].ID
	}
	first := deployed()
	require.Eventually(t, func() bool {
		app, _, err = t.api.Apps.Get(t.ctx, app.ID)
		require.NoError(t, err)
		return app.ActiveDeployment != nil && app.ActiveDeployment.ID == first
	}, patience, step)
	require.NotEmpty(t, app.LiveURL)
	require.NotEmpty(t, app.DefaultIngress)

	// The spec as it was read is the same spec.
	next := app.Spec
	next.Services[0].InstanceCount = 2
	next.Services[0].InstanceSizeSlug = "apps-s-1vcpu-1gb"
	_, _, err = t.api.Apps.Update(t.ctx, app.ID, &godo.AppUpdateRequest{Spec: next})
	require.NoError(t, err)
	require.NotEqual(t, first, deployed())
	read, _, err := t.api.Apps.Get(t.ctx, app.ID)
	require.NoError(t, err)
	require.Equal(t, next, read.Spec)
	_, err = t.api.Apps.Delete(t.ctx, app.ID)
	require.NoError(t, err)
	t.gone(func() (*godo.Response, error) { _, r, err := t.api.Apps.Get(t.ctx, app.ID); return r, err })
}

func TestTerraformDedicatedInference(tt *testing.T) {
	t := newTerraform(tt)
	models := func(slug string, scale uint64) []*godo.DedicatedInferenceModelRequest {
		return []*godo.DedicatedInferenceModelRequest{{ModelSlug: slug, ModelProvider: "hugging_face",
			Accelerators: []*godo.DedicatedInferenceAcceleratorRequest{{AcceleratorSlug: "gpu-mi300x1-192gb", Scale: scale, Type: "prefill_decode"}}}}
	}
	made, _, _, err := t.api.DedicatedInference.Create(t.ctx, &godo.DedicatedInferenceCreateRequest{Spec: &godo.DedicatedInferenceSpecRequest{
		Version: 1, Name: "chat", Region: "nyc2", VPC: &godo.DedicatedInferenceVPCRequest{UUID: simulator.VPCID(token, "nyc2")},
		ModelDeployments: models("mistral/mistral-7b-instruct-v3", 1)}})
	require.NoError(t, err)
	ready := func() *godo.DedicatedInference {
		t.Helper()
		var got *godo.DedicatedInference
		require.Eventually(t, func() bool {
			got, _, err = t.api.DedicatedInference.Get(t.ctx, made.ID)
			require.NoError(t, err)
			return got.Status == "active" && got.PendingDeploymentSpec == nil
		}, patience, step)
		return got
	}
	live := ready()
	require.Equal(t, "nyc2", live.Region)
	require.NotEmpty(t, live.Endpoints.PrivateEndpointFQDN)
	require.EqualValues(t, 1, live.DeploymentSpec.ModelDeployments[0].Accelerators[0].Scale)
	require.NotEmpty(t, live.DeploymentSpec.ModelDeployments[0].ModelID)

	changed := models("mistral/mistral-7b-instruct-v3", 2)
	changed[0].ModelID = live.DeploymentSpec.ModelDeployments[0].ModelID
	_, _, err = t.api.DedicatedInference.Update(t.ctx, made.ID, &godo.DedicatedInferenceUpdateRequest{Spec: &godo.DedicatedInferenceSpecRequest{
		Version: int(live.DeploymentSpec.Version), Name: "chat", Region: live.Region,
		VPC:              &godo.DedicatedInferenceVPCRequest{UUID: live.DeploymentSpec.VPCConfig.VPCUUID},
		ModelDeployments: changed}})
	require.NoError(t, err)
	require.EqualValues(t, 2, ready().DeploymentSpec.ModelDeployments[0].Accelerators[0].Scale)

	issued, _, err := t.api.DedicatedInference.CreateToken(t.ctx, made.ID, &godo.DedicatedInferenceTokenCreateRequest{Name: "ci"})
	require.NoError(t, err)
	require.NotEmpty(t, issued.Value)
	tokens, _, err := t.api.DedicatedInference.ListTokens(t.ctx, made.ID, &godo.ListOptions{Page: 1, PerPage: 200})
	require.NoError(t, err)
	require.Condition(t, func() bool {
		for _, one := range tokens {
			if one.ID == issued.ID {
				return one.Name == "ci"
			}
		}
		return false
	})
	_, err = t.api.DedicatedInference.Delete(t.ctx, made.ID)
	require.NoError(t, err)
	t.gone(func() (*godo.Response, error) {
		_, r, err := t.api.DedicatedInference.Get(t.ctx, made.ID)
		return r, err
	})
}

func TestTerraformPartnerAttachment(tt *testing.T) {
	t := newTerraform(tt)
	vpc, _, err := t.api.VPCs.Create(t.ctx, &godo.VPCCreateRequest{Name: "more", RegionSlug: "nyc3"})
	require.NoError(t, err)
	first := simulator.VPCID(token, "nyc3")
	made, _, err := t.api.PartnerAttachment.Create(t.ctx, &godo.PartnerAttachmentCreateRequest{Name: "line",
		ConnectionBandwidthInMbps: 1000, Region: "nyc", NaaSProvider: "MEGAPORT", VPCIDs: []string{first},
		BGP: godo.BGP{LocalRouterIP: "169.254.0.1/29", PeerRouterIP: "169.254.0.6/29", PeerASN: 64512, AuthKey: "0123456789"}})
	require.NoError(t, err)
	var read *godo.PartnerAttachment
	require.Eventually(t, func() bool {
		read, _, err = t.api.PartnerAttachment.Get(t.ctx, made.ID)
		require.NoError(t, err)
		require.Contains(t, []string{"CREATING", "CREATED"}, read.State, "any other state ends the wait with an error")
		return read.State == "CREATED"
	}, patience, step)
	require.Equal(t, "nyc", strings.ToLower(read.Region))
	require.Equal(t, 1000, read.ConnectionBandwidthInMbps)
	require.Equal(t, "MEGAPORT", read.NaaSProvider, "as it was written")
	require.Equal(t, "169.254.0.6/29", read.BGP.PeerRouterIP)
	require.Equal(t, 64512, read.BGP.PeerASN)

	// Only what changed is sent.
	_, _, err = t.api.PartnerAttachment.Update(t.ctx, made.ID, &godo.PartnerAttachmentUpdateRequest{VPCIDs: []string{first, vpc.ID}})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		read, _, err = t.api.PartnerAttachment.Get(t.ctx, made.ID)
		require.NoError(t, err)
		return len(read.VPCIDs) == 2
	}, patience, step)
	require.Equal(t, "line", read.Name)
	require.Eventually(t, func() bool {
		response, err := t.api.PartnerAttachment.Delete(t.ctx, made.ID)
		if err != nil {
			require.Equal(t, http.StatusForbidden, response.StatusCode, "the one refusal after which Terraform tries again")
		}
		return err == nil
	}, patience, step)
	t.gone(func() (*godo.Response, error) {
		seen, r, err := t.api.PartnerAttachment.Get(t.ctx, made.ID)
		if err == nil {
			require.Equal(t, "DELETING", seen.State)
		}
		return r, err
	})
}
