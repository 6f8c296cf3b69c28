# What a developer needs, in one place. `make` lists it.
GO ?= go
STATICCHECK := tool -modfile=.ci/tools/go.mod honnef.co/go/tools/cmd/staticcheck
# How long each fuzz target runs with `make fuzz`.
FUZZTIME ?= 2m

.PHONY: list run test check race fuzz fuzz-short bench bench-peers

list: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | column -t -s "$$(printf '\t')"

run: ## one host with its embedded default
	$(GO) run ./cmd/signalbox serve

test: ## all tests
	$(GO) test ./...

check: ## format, vet, staticcheck, race detector, a little fuzzing
	@unformatted="$$(gofmt -l $$(git ls-files '*.go'))"; \
	if [ -n "$$unformatted" ]; then echo "not gofmt-ed:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) $(STATICCHECK) ./...
	$(MAKE) race
	$(MAKE) fuzz-short

race: ## all tests under the race detector, the long ones shortened
	$(GO) test -race -short ./...

fuzz: ## every fuzz target, FUZZTIME each (default 2m)
	@GO="$(GO)" .ci/fuzz $(FUZZTIME)

fuzz-short:
	@GO="$(GO)" .ci/fuzz 50000x

bench: ## the benchmarks, in a form that benchstat reads
	$(GO) test -run '^$$' -bench . -benchmem -count 3 ./...

bench-peers: ## the race against etcd and ZooKeeper, half an hour; flags in BENCH_PEERS
	cd bench && $(GO) build -o ../bin/bench . && ../bin/bench run $(BENCH_PEERS)
