package contract_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the repository's, seen from this package.
const root = "../.."

// tableRow is a rule of docs/contract.md.
type tableRow struct {
	section, id, rule string
	tests             []string
}

var (
	codeSpan = regexp.MustCompile("`([^`]*)`")
	// testName is "<package path> <function>[/<case>]".
	testName = regexp.MustCompile(`^([\w./-]+) (Test\w+)(?:/(.+))?$`)
)

// readTable reads the rows of every table of the page.
func readTable(t *testing.T, text string) (rows []tableRow) {
	t.Helper()
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
		}
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| # ") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		require.Len(t, cells, 3, line)
		row := tableRow{section: section, id: strings.TrimSpace(cells[0]), rule: strings.TrimSpace(cells[1])}
		for _, span := range codeSpan.FindAllStringSubmatch(cells[2], -1) {
			row.tests = append(row.tests, span[1])
		}
		rows = append(rows, row)
	}
	return rows
}

// packageTests are the test functions of a package, which say whether they run
// cases, and all its texts, among them the cases' names.
type packageTests struct {
	functions map[string]bool
	texts     map[string]bool
}

// testsOf reads the test files of a package, whatever they are built for.
func testsOf(dir string) (*packageTests, error) {
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	p := &packageTests{map[string]bool{}, map[string]bool{}}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil {
					p.functions[n.Name.Name] = runsCases(n)
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil {
					p.texts[text] = true
				}
			}
			return true
		})
	}
	return p, nil
}

func runsCases(f *ast.FuncDecl) (runs bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Run" {
			runs = true
		}
		return true
	})
	return runs
}

// Every rule has a test, and every test that is named exists: its function by
// name, its case by a text of the package.
func TestEveryTestOfTheTableExists(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs", "contract.md"))
	require.NoError(t, err)
	packages := map[string]*packageTests{}
	for _, row := range readTable(t, string(text)) {
		require.NotEmpty(t, row.rule, row.id)
		require.NotEmpty(t, row.tests, "%s has no test", row.id)
		for _, name := range row.tests {
			parts := testName.FindStringSubmatch(name)
			require.NotNil(t, parts, "%s: %q is not <package> <Test>[/<case>]", row.id, name)
			p := packages[parts[1]]
			if p == nil {
				p, err = testsOf(parts[1])
				require.NoError(t, err)
				packages[parts[1]] = p
			}
			cases, exists := p.functions[parts[2]]
			if !exists {
				t.Errorf("%s: package %s has no %s", row.id, parts[1], parts[2])
			}
			if parts[3] != "" && (!cases || !p.texts[parts[3]]) {
				t.Errorf("%s: %s of package %s has no case %q", row.id, parts[2], parts[1], parts[3])
			}
		}
	}
}

// The page has a section for each of the eleven methods and both other groups,
// and all decisions, each rule under a number of its own.
func TestTheTableIsWhole(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs", "contract.md"))
	require.NoError(t, err)
	ids, sections := map[string]bool{}, map[string]int{}
	for _, row := range readTable(t, string(text)) {
		require.False(t, ids[row.id], "%s stands twice", row.id)
		ids[row.id] = true
		sections[row.section]++
	}
	for method := range methodInputs {
		require.Positive(t, sections[method], "nothing of %s", method)
	}
	for _, section := range []string{"Resources in general", "certificates", "commandBatches"} {
		require.Positive(t, sections[section], "nothing of %s", section)
	}
	const decisions = 34
	for n := range decisions {
		require.True(t, ids[fmt.Sprint("D", n+1)], "D%d is missing", n+1)
	}
	require.Equal(t, decisions, sections["Decisions"])
}
