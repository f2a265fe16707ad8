package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/better-compute/cloud-resources/workflows"
)

// attributesTimeout is how long new search attributes may take to be usable.
// A server looks for them every ten seconds or so.
const attributesTimeout = time.Minute

// EnsureSearchAttributes makes the search attributes known to the cluster and
// returns when workflows can be started with them. It may be repeated, by any
// number of workers at once. On a cluster that lets nobody add them (Temporal
// Cloud) they must be there already.
func EnsureSearchAttributes(ctx context.Context, c client.Client, namespace string) error {
	if usable(ctx, c, namespace) == nil {
		return nil
	}
	var refused error
	for _, key := range workflows.SearchAttributes {
		_, err := c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
			Namespace:        namespace,
			SearchAttributes: map[string]enumspb.IndexedValueType{key.GetName(): enumspb.INDEXED_VALUE_TYPE_KEYWORD},
		})
		var there *serviceerror.AlreadyExists
		if err != nil && !errors.As(err, &there) && !strings.Contains(err.Error(), "already exist") {
			refused = err
		}
	}
	if refused != nil && unreachable(refused) {
		return refused
	}
	ctx, cancel := context.WithTimeout(ctx, attributesTimeout)
	defer cancel()
	for {
		err := usable(ctx, c, namespace)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("search attributes are not usable: %w", errors.Join(err, refused))
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// usable asks a question that only a server which knows them all can answer.
func usable(ctx context.Context, c client.Client, namespace string) error {
	var terms []string
	for _, key := range workflows.SearchAttributes {
		terms = append(terms, key.GetName()+" = 'none'")
	}
	_, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: namespace, Query: strings.Join(terms, " AND "),
	})
	return err
}
