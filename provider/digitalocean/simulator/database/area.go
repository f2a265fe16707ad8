// Package database simulates managed databases.
package database

import "github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"

// Area is the product's routes.
func Area() core.Area { return core.Area{Name: "database"} }
