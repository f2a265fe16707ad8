package digitalocean_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
)

// Every kind is listed once, under the provider's prefix, and its parent before it.
func TestManifests(t *testing.T) {
	p := digitalocean.New()
	require.Equal(t, "digitalocean", p.Name())
	seen := map[string]bool{}
	for _, m := range p.Manifests() {
		require.True(t, strings.HasPrefix(m.Kind, "do."), m.Kind)
		require.False(t, seen[m.Kind], "%s is listed twice", m.Kind)
		require.True(t, m.Parent == "" || seen[m.Parent], "%s before its parent %s", m.Kind, m.Parent)
		seen[m.Kind] = true
	}
}

// The list and the folders agree: each constructor of a kind stands in the list,
// and each manifest file and source file has its test.
func TestListAndFoldersAgree(t *testing.T) {
	listed := constructors(t, "kinds.go")
	for _, area := range areas(t) {
		files, err := filepath.Glob(filepath.Join(area, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, name := range declared(t, file) {
				require.Contains(t, listed, filepath.Base(area)+"."+name, "%s makes a kind that kinds.go does not list", file)
			}
		}
		tests, err := filepath.Glob(filepath.Join(area, "*_test.go"))
		require.NoError(t, err)
		require.NotEmpty(t, tests, "%s has no tests", area)
	}
}

// areas are the folders that hold manifests.
func areas(t *testing.T) []string {
	files, err := filepath.Glob("*/*.json")
	require.NoError(t, err)
	var out []string
	for _, f := range files {
		out = append(out, filepath.Dir(f))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// declared are the exported functions of a file that return a cloud.Kind.
func declared(t *testing.T, file string) (names []string) {
	for _, d := range parse(t, file).Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !f.Name.IsExported() || f.Type.Results == nil || len(f.Type.Results.List) != 1 {
			continue
		}
		if s, ok := f.Type.Results.List[0].Type.(*ast.SelectorExpr); ok && s.Sel.Name == "Kind" {
			names = append(names, f.Name.Name)
		}
	}
	return names
}

// constructors are the calls package.Func in a file.
func constructors(t *testing.T, file string) (names []string) {
	ast.Inspect(parse(t, file), func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			if s, ok := c.Fun.(*ast.SelectorExpr); ok {
				if p, ok := s.X.(*ast.Ident); ok {
					names = append(names, p.Name+"."+s.Sel.Name)
				}
			}
		}
		return true
	})
	return names
}

func parse(t *testing.T, file string) *ast.File {
	src, err := os.ReadFile(file)
	require.NoError(t, err)
	parsed, err := parser.ParseFile(token.NewFileSet(), file, src, 0)
	require.NoError(t, err)
	return parsed
}

func TestOpen(t *testing.T) {
	opened, err := digitalocean.New().Open(cloud.AccountAccess{ID: "a", APIURL: "http://127.0.0.1:1"})
	require.NoError(t, err, "opening makes no call")
	_, ok := opened.Kind("do.database.pg")
	require.True(t, ok)
	_, ok = opened.Kind("do.unknown")
	require.False(t, ok)
	require.NotNil(t, opened.Certificates())
	require.Equal(t, cloud.ClassUnknown, cloud.ClassOf(opened.Healthy(context.Background())))
	_, err = digitalocean.New().Open(cloud.AccountAccess{ID: "a", APIURL: "nonsense"})
	require.Error(t, err)
}

// A locked account does not answer for us, although its token is good.
func TestHealthy(t *testing.T) {
	ctx := context.Background()
	opened, sim := kindtest.Open(t)
	require.NoError(t, opened.Healthy(ctx))
	require.NoError(t, sim.SetAccount(ctx, kindtest.Token, map[string]any{"status": "warning"}))
	require.NoError(t, opened.Healthy(ctx))
	require.NoError(t, sim.SetAccount(ctx, kindtest.Token, map[string]any{"status": "locked"}))
	require.Equal(t, cloud.ClassUnreachable, cloud.ClassOf(opened.Healthy(ctx)))
	_, err := sim.AddFault(ctx, simulator.Fault{Method: "*", Path: "/**", Effect: simulator.Effect{Status: 401, Body: "Unable to authenticate"}})
	require.NoError(t, err)
	require.Equal(t, cloud.ClassUnreachable, cloud.ClassOf(opened.Healthy(ctx)))
}
