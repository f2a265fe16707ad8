package simulator

import "github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"

// Server is the simulated API, an http.Handler; close it to save its state.
type Server = core.Server

// Options configure a Server; see core.Options.
type Options = core.Options

// Settings are the knobs of the provider; see core.Settings.
type Settings = core.Settings

// Duration is a time.Duration that JSON writes as a string such as "3s".
type Duration = core.Duration

// Fault is one planned misbehaviour; see core.Fault.
type Fault = core.Fault

// Effect is what a fault does; see core.Effect.
type Effect = core.Effect

// Then is what follows an accepted request.
type Then = core.Then

// Request is one line of the ledger.
type Request = core.Request

// Signal is a Managed Agents signal to raise.
type Signal = core.Signal

// DefaultSettings suit development.
func DefaultSettings() Settings { return core.DefaultSettings() }

// New builds a simulator of every area. It fails when the state file cannot be
// read.
func New(opts Options) (*Server, error) { return core.New(opts, areas()...) }

// VPCID is the id of the default VPC that the account of a token has in a
// region.
func VPCID(token, region string) string { return core.VPCID(token, region) }

// DropletID is the id of a seeded Droplet (acme, shared, gx) of the account of a
// token.
func DropletID(token, name string) int { return core.DropletID(token, name) }
