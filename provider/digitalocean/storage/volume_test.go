package storage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
	"github.com/better-compute/cloud-resources/provider/digitalocean/storage"
)

func TestVolume(t *testing.T) {
	kindtest.Run(t, kindtest.Case{
		Kind:    "do.volume",
		Create:  "POST /v2/volumes",
		Objects: "volume",
		Updates: []cloud.Spec{{"size_gigabytes": 20}, {"tags": []any{"team:web", "Env:Prod"}}, {"tags": nil}},
	})
}

func TestAVolumesLabelNeedsItsFileSystem(t *testing.T) {
	check := storage.Volume(nil).(cloud.SpecChecker).CheckSpec
	require.NoError(t, check(cloud.Spec{"filesystem_label": "data", "filesystem_type": "ext4"}))
	for name, spec := range map[string]cloud.Spec{
		"no type":         {"filesystem_label": "data"},
		"too long for it": {"filesystem_label": "thirteen-char", "filesystem_type": "xfs"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, []string{"spec.filesystem_label"}, cloud.AsError(check(spec)).Details["fields"])
		})
	}
}
