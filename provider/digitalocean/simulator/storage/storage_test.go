package storage_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/spectest"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/storage"
)

func TestVolumesGrowByAnAction(t *testing.T) {
	ctx := context.Background()
	s := spectest.Start(t, basics.Area(), storage.Area())
	v, _, err := s.Client.Storage.CreateVolume(ctx, &godo.VolumeCreateRequest{
		Region: "nyc3", Name: "data", SizeGigaBytes: 10, FilesystemType: "ext4", Tags: []string{"team:web"},
	})
	require.NoError(t, err)
	_, resp, err := s.Client.Storage.CreateVolume(ctx, &godo.VolumeCreateRequest{Region: "nyc3", Name: "data", SizeGigaBytes: 10})
	require.Error(t, err)
	require.Equal(t, http.StatusConflict, resp.StatusCode, "one volume a name and region")

	action, _, err := s.Client.StorageActions.Resize(ctx, v.ID, 20, "nyc3")
	require.NoError(t, err)
	require.Equal(t, "in-progress", action.Status)
	_, _, err = s.Client.StorageActions.Resize(ctx, v.ID, 30, "nyc3")
	require.ErrorContains(t, err, "pending event")
	running, _, err := s.Client.Actions.Get(ctx, action.ID)
	require.NoError(t, err)
	require.Nil(t, running.CompletedAt, "by this Terraform knows that it must wait on")
	s.Clock.Advance(time.Minute)
	finished, _, err := s.Client.Actions.Get(ctx, action.ID)
	require.NoError(t, err)
	require.NotNil(t, finished.CompletedAt)
	all, _, err := s.Client.Actions.List(ctx, nil)
	require.NoError(t, err)
	require.Len(t, all, 1)
	action, _, err = s.Client.StorageActions.Get(ctx, v.ID, action.ID)
	require.NoError(t, err)
	require.Equal(t, godo.ActionCompleted, action.Status)
	grown, _, err := s.Client.Storage.GetVolume(ctx, v.ID)
	require.NoError(t, err)
	require.EqualValues(t, 20, grown.SizeGigaBytes)
	require.Equal(t, []string{"team:web"}, grown.Tags)
	_, _, err = s.Client.StorageActions.Resize(ctx, v.ID, 15, "nyc3")
	require.Error(t, err, "a volume never shrinks")

	list, _, err := s.Client.Storage.ListVolumes(ctx, &godo.ListVolumeParams{Name: "data", Region: "nyc3"})
	require.NoError(t, err)
	require.Len(t, list, 1)
	_, _, err = s.Client.StorageActions.List(ctx, v.ID, nil)
	require.NoError(t, err)
	_, err = s.Client.Storage.DeleteVolume(ctx, v.ID)
	require.NoError(t, err)
	_, resp, err = s.Client.Storage.GetVolume(ctx, v.ID)
	require.Error(t, err)
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
	s.RequireCovered(storage.Area())
}
