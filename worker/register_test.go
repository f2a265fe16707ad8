package worker

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/workflows"
)

// registry remembers the names that were registered.
type registry struct {
	worker.Registry
	names map[string]int
}

func (r *registry) RegisterWorkflowWithOptions(_ any, o workflow.RegisterOptions) { r.names[o.Name]++ }
func (r *registry) RegisterActivityWithOptions(_ any, o activity.RegisterOptions) { r.names[o.Name]++ }

// TestEveryNameIsRegistered: a name that nobody serves would wait for ever.
func TestEveryNameIsRegistered(t *testing.T) {
	t.Parallel()
	r := &registry{names: map[string]int{}}
	o := Options{
		Resources: &activities.Activities{}, Certificates: &activities.CertificateActivities{},
		Batches: &activities.BatchActivities{}, Sweeps: &activities.Sweeps{}, Webhooks: &activities.WebhookActivities{},
	}
	registerWorkflows(r)
	registerRecordActivities(r, o)
	registerProviderActivities(r, o)
	register(r, workflows.ActivityDeliver, o.Webhooks.DeliverWebhooks)
	named := map[string]int{}
	files, err := filepath.Glob("../workflows/*.go")
	require.NoError(t, err)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
				name := spec.Names[0].Name
				value, isText := spec.Values[0].(*ast.BasicLit)
				if isText && (strings.HasPrefix(name, "Activity") || strings.HasPrefix(name, "Type")) {
					text, err := strconv.Unquote(value.Value)
					require.NoError(t, err)
					named[text] = 1
				}
			}
			return true
		})
	}
	require.NotEmpty(t, named)
	require.Equal(t, named, r.names)
}
