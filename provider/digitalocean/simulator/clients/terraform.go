package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// configurations are one folder per life, and the provider's file for all.
//
//go:embed terraform
var configurations embed.FS

// cycle are the stages of a configuration's life. After create, update and import
// the plan must be empty, or the stage has failed.
var cycle = []string{"create", "update", "import", "destroy"}

// planned is the exit code of a plan that is not empty.
const planned = 2

// terraform is how its command is run.
type terraform struct {
	url string
	// config is a CLI configuration that names a provider's program; without one
	// the provider comes from the registry.
	config string
}

// newTerraform prepares the command; provider is the folder of a
// terraform-provider-digitalocean, or "".
func newTerraform(url, provider, dir string) (terraform, error) {
	tf := terraform{url: url}
	if provider == "" {
		return tf, nil
	}
	provider, err := filepath.Abs(provider)
	if err != nil {
		return tf, err
	}
	tf.config, err = filepath.Abs(filepath.Join(dir, "terraform.rc"))
	if err != nil {
		return tf, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return tf, err
	}
	text := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"digitalocean/digitalocean\" = %q\n  }\n  direct {}\n}\n", provider)
	return tf, os.WriteFile(tf.config, []byte(text), 0o600)
}

// lives are those of the configurations.
func (tf terraform) lives() []named {
	entries, err := configurations.ReadDir("terraform")
	if err != nil {
		panic(err) // embedded
	}
	var all []named
	for _, entry := range entries {
		if entry.IsDir() {
			all = append(all, named{"terraform " + entry.Name(), func(l *life) { tf.live(l, entry.Name()) }})
		}
	}
	return all
}

func (tf terraform) live(l *life, name string) {
	l.at("create")
	home := tf.prepare(l, name)
	defer os.RemoveAll(home)
	tf.must(l, home, "apply", "-auto-approve", "-var", "step=1")
	tf.empty(l, home, 1)
	l.at("update")
	tf.must(l, home, "apply", "-auto-approve", "-var", "step=2")
	tf.empty(l, home, 2)
	l.at("import")
	tf.imports(l, home, name)
	l.at("destroy")
	tf.must(l, home, "destroy", "-auto-approve", "-var", "step=2")
}

// imports brings what exists into an empty state, which must then agree.
func (tf terraform) imports(l *life, home, name string) {
	var ids map[string]string
	if err := json.Unmarshal([]byte(tf.must(l, home, "output", "-json", "imports")), &ids); err != nil {
		l.fail("the output imports: %w", err)
	}
	if len(ids) == 0 {
		return
	}
	fresh := tf.prepare(l, name)
	defer os.RemoveAll(fresh)
	var targets []string
	for _, address := range slices.Sorted(maps.Keys(ids)) {
		tf.must(l, fresh, "import", "-var", "step=2", address, ids[address])
		targets = append(targets, "-target", address)
	}
	tf.empty(l, fresh, 2, targets...)
}

// prepare lays a configuration into a new folder.
func (tf terraform) prepare(l *life, name string) string {
	home, err := os.MkdirTemp("", "clients-terraform-")
	if err != nil {
		l.fail("%w", err)
	}
	files, err := fs.Glob(configurations, path.Join("terraform", name, "*.tf"))
	for _, file := range append(files, "terraform/provider.tf") {
		var text []byte
		if text, err = configurations.ReadFile(file); err == nil {
			err = os.WriteFile(filepath.Join(home, path.Base(file)), text, 0o600)
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		_ = os.RemoveAll(home)
		l.fail("%w", err)
	}
	if tf.config == "" {
		tf.must(l, home, "init")
	}
	return home
}

// empty demands a plan without changes.
func (tf terraform) empty(l *life, home string, step int, more ...string) {
	said, err := tf.run(l.ctx, home, append([]string{"plan", "-detailed-exitcode", "-var", fmt.Sprintf("step=%d", step)}, more...)...)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == planned {
		l.fail("the next plan has changes:\n%s", said)
	}
	if err != nil {
		l.fail("terraform plan: %w\n%s", err, said)
	}
	l.done[l.stage] = true
}

func (tf terraform) must(l *life, home string, args ...string) string {
	said, err := tf.run(l.ctx, home, args...)
	if err != nil {
		l.fail("terraform %s: %w\n%s", strings.Join(args, " "), err, said)
	}
	l.done[l.stage] = true
	return said
}

// run answers the standard output and, on failure, the errors too.
func (tf terraform) run(ctx context.Context, home string, args ...string) (string, error) {
	args = slices.Insert(slices.Clone(args), 1, "-no-color")
	cmd := exec.CommandContext(ctx, "terraform", args...)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "TF_INPUT=0", "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1", "TF_VAR_endpoint="+tf.url)
	if tf.config != "" {
		cmd.Env = append(cmd.Env, "TF_CLI_CONFIG_FILE="+tf.config)
	}
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	if err != nil {
		return out.String() + problems.String(), err
	}
	return out.String(), nil
}
