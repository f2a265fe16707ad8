package main

import (
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/postgres"
)

// certificatePorts are the rules of certificates and their records.
type certificatePorts struct {
	*intent.CertificateService
	*postgres.Store
}

// batchPorts are the rules of command batches and their records.
type batchPorts struct {
	*intent.BatchService
	*postgres.Store
}
