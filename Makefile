# Bare `make` prints the targets. Everything that is built or kept lies under .dev/.

GOLANGCI_LINT_VERSION := 2.12.2
WORKFLOWCHECK_VERSION := 0.6.0

BIN           := .dev/bin
GOLANGCI_LINT := $(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION)
WORKFLOWCHECK := $(BIN)/workflowcheck-$(WORKFLOWCHECK_VERSION)
PROGRAM       := $(BIN)/cloudresources
TESTENV       := $(BIN)/testenv

# What `make test` tests, and more flags for it: make test PKG=./cloud/... TESTFLAGS='-run Decide -v'
PKG       ?= ./...
TESTFLAGS ?=

.DEFAULT_GOAL := help
.PHONY: help dev demo build test fmt lint bench clients generate verify clean $(PROGRAM) $(TESTENV)

help: ## Print this help
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

dev: $(PROGRAM) ## Run the whole system in the foreground; the state lasts under .dev/
	@exec $(PROGRAM) dev

demo: $(PROGRAM) ## Live one whole life of a database in front of you, then stop everything
	@exec $(PROGRAM) demo

build: ## Build the program into bin/
	go build -trimpath -o bin/cloudresources ./cmd/cloudresources

test: $(TESTENV) ## Run all tests with the race detector, on throwaway Postgres and Temporal
ifeq ($(PKG),./...)
	@# The end-to-end tests start whole systems, so they run after the rest, not beside it.
	@exec $(TESTENV) -- sh -c 'go test -race $(TESTFLAGS) $$(go list ./... | grep -v /cmd/cloudresources) && go test -race $(TESTFLAGS) ./cmd/cloudresources'
else
	@exec $(TESTENV) -- go test -race $(TESTFLAGS) $(PKG)
endif

fmt: $(GOLANGCI_LINT) ## Format all Go files as lint wants them
	$(GOLANGCI_LINT) fmt ./...

lint: $(GOLANGCI_LINT) $(WORKFLOWCHECK) ## Check format, vet, linters, import rules and workflow determinism
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' | xargs -r gofmt -l); \
		if [ -n "$$unformatted" ]; then echo "not formatted (gofmt -w):"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	$(GOLANGCI_LINT) run ./...
	$(WORKFLOWCHECK) -test=false -config .workflowcheck.yaml ./workflows/...

bench: $(TESTENV) ## Measure creates, reads and whole lives beside bare Echo+pgx and bare Temporal
	@exec $(TESTENV) -- go run ./cmd/cloudresources bench

clients: ## Point a stock DigitalOcean client at the simulator; needs npm, takes a minute
	go run ./provider/digitalocean/simulator/clients

generate: ## Write the generated files anew
	go generate ./...

verify: ## Fail when the generated files are not what `make generate` writes
	@.ci/verify

clean: ## Delete what `make build` built; .dev/ (state, tools) stays
	rm -rf bin

$(PROGRAM): # go itself knows whether there is anything to do
	@mkdir -p $(BIN)
	@go build -o $@ ./cmd/cloudresources

$(TESTENV):
	@mkdir -p $(BIN)
	@go build -o $@ ./cmd/testenv

$(GOLANGCI_LINT):
	@.ci/tool $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(GOLANGCI_LINT_VERSION)

$(WORKFLOWCHECK):
	@.ci/tool $@ go.temporal.io/sdk/contrib/tools/workflowcheck@v$(WORKFLOWCHECK_VERSION)
