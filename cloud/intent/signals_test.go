package intent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/api/apitest"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/platform"
)

func raised(id, about string, at int64) cloud.Signal {
	return cloud.Signal{ID: id, Severity: cloud.SeverityWarning, Title: "title " + id, At: at, Kind: apitest.Cluster, ProviderID: about}
}

func withPreviews(f *platform.File) {
	for i := range f.Accounts {
		f.Accounts[i].Previews = true
	}
}

func ids(signals []cloud.Signal) []string {
	out := []string{}
	for _, s := range signals {
		out = append(out, s.ID)
	}
	return out
}

func TestSignalsByTenant(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, withPreviews)
	ctx := context.Background()
	acme := w.Ready(create(t, w, apitest.Alice, cluster(on(apitest.PoolShared), named("a"))), "a-1")
	second := w.Ready(create(t, w, apitest.Alice, cluster(on(apitest.PoolShared), named("b"))), "a-2")
	globex := w.Ready(create(t, w, apitest.Bob, cluster(by("globex"), on(apitest.PoolShared))), "g-1")
	w.Provider.Raise(apitest.AccountShared, raised("1", "a-1", 10), raised("2", "g-1", 30), raised("3", "nobody", 20), raised("4", "a-2", 40), raised("5", "a-1", 50))

	list, err := w.Service.Signals(ctx, apitest.Rita, pool("acme", apitest.PoolShared))
	require.NoError(t, err)
	require.Equal(t, []string{"5", "4", "1"}, ids(list), "its own, newest first")
	require.Equal(t, acme.ID, list[0].ResourceID)
	list, err = w.Service.Signals(ctx, apitest.Bob, pool("globex", apitest.PoolShared))
	require.NoError(t, err)
	require.Equal(t, []string{"2"}, ids(list))
	list, err = w.Service.Signals(ctx, apitest.Root, pool("root", apitest.PoolShared))
	require.NoError(t, err)
	require.Equal(t, []string{"5", "4", "2", "3", "1"}, ids(list), "the owner sees every signal, recorded or not")
	require.Equal(t, globex.ID, list[2].ResourceID)
	require.Empty(t, list[3].ResourceID)

	in := pool("acme", apitest.PoolShared)
	in.ResourceID = second.ID
	list, err = w.Service.Signals(ctx, apitest.Alice, in)
	require.NoError(t, err)
	require.Equal(t, []string{"4"}, ids(list))
	in.ResourceID = globex.ID
	_, err = w.Service.Signals(ctx, apitest.Alice, in)
	apitest.Refused(t, err, cloud.CodeNotFound, "")

	require.Equal(t, 1, w.Provider.Calls(), "one answer serves everybody for a while")
	another := *w.Service
	another.Answers = w.Another()
	_, err = another.Signals(ctx, apitest.Root, pool("root", apitest.PoolShared))
	require.NoError(t, err)
	require.Equal(t, 1, w.Provider.Calls(), "in other processes too")
}

func TestSignalsAreTidied(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, withPreviews)
	w.Service.Answers = nil
	good := raised("good", "x", 1)
	good.Title = " two\n lines\t\x00of  text "
	good.Detail = strings.Repeat("ä ", 400) + "end"
	edit := func(fn func(s *cloud.Signal)) cloud.Signal { s := raised("bad", "x", 1); fn(&s); return s }
	w.Provider.Raise(apitest.AccountAcme, good,
		edit(func(s *cloud.Signal) { s.ID = "" }), edit(func(s *cloud.Signal) { s.Title = "\n" }), edit(func(s *cloud.Signal) { s.At = 0 }),
		edit(func(s *cloud.Signal) { s.Severity = "loud" }), edit(func(s *cloud.Signal) { s.Kind = "" }), edit(func(s *cloud.Signal) { s.ProviderID = "" }))
	list, err := w.Service.Signals(context.Background(), apitest.Alice, pool("acme", apitest.PoolAcme))
	require.NoError(t, err)
	require.Len(t, list, 1, "malformed ones are dropped")
	require.Equal(t, "two lines of text", list[0].Title)
	require.LessOrEqual(t, utf8.RuneCountInString(list[0].Detail), intent.MaxSignalDetail)
	require.NotContains(t, list[0].Detail, "end")
}

func TestSignalsAreBoundedAfterTheTenantsPartIsCutOut(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, withPreviews)
	w.Ready(create(t, w, apitest.Alice, cluster(on(apitest.PoolShared))), "a-1")
	for i := range 600 {
		w.Provider.Raise(apitest.AccountShared, raised(fmt.Sprint("n-", i), "nobody", 1000))
	}
	w.Provider.Raise(apitest.AccountShared, raised("mine", "a-1", 1))
	list, err := w.Service.Signals(context.Background(), apitest.Alice, pool("acme", apitest.PoolShared))
	require.NoError(t, err)
	require.Equal(t, []string{"mine"}, ids(list), "however many of others are newer")
	list, err = w.Service.Signals(context.Background(), apitest.Root, pool("root", apitest.PoolShared))
	require.NoError(t, err)
	require.Len(t, list, intent.MaxSignals)
}

func TestSignalsUnsupported(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	_, err := w.Service.Signals(context.Background(), apitest.Alice, pool("acme", apitest.PoolShared))
	apitest.Refused(t, err, cloud.CodeUnsupported, "preview")
	w.Provider.NoSignals = true
	_, err = w.Service.Signals(context.Background(), apitest.Alice, pool("acme", apitest.PoolAcme))
	apitest.Refused(t, err, cloud.CodeUnsupported, "")
}
