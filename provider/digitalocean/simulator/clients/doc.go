// Command clients points a stock client of the DigitalOcean API at the simulator
// and lives one life of every resource type that both know: create, read, list,
// update, delete. It prints a table and fails when any step does.
//
//	go run ./provider/digitalocean/simulator/clients        (make clients)
//
// The client is DigitalOcean's own MCP server, the npm package @digitalocean/mcp,
// which carries a program built on godo. It is installed once, at the version
// below, into .dev/clients; -mcp names another one. Its tools are called over its
// standard input, as an assistant would call them, and what it answers is what it
// understood of the simulator's answers. Whatever it cannot do is not tried:
// databases and pools of a cluster, replicas, log sinks, functions, inference,
// harness, partner attachments and volumes have no tool there.
//
// With -terraform it runs Terraform and DigitalOcean's provider instead, over the
// configurations below terraform/: apply, plan, apply with every updatable value
// changed, plan, import into an empty state, plan, destroy. Each plan must be
// empty. The provider comes from the registry; -provider names the folder of one
// that was built by hand.
//
//	go run ./provider/digitalocean/simulator/clients -terraform
//
// The provider and doctl could not be had where this was written, as no registry
// reached from there serves them: the configurations follow the provider's source
// and have not met it. What its source demands of the API is held by the
// simulator's terraform*_test.go, which make the provider's calls through godo.
// There is nothing here for doctl.
//
// On failure the steps after the failed one are left out for that resource, the
// others go on; nothing lasts, as the simulator is in memory and ends with it.
package main
