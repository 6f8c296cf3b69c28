# What a developer needs, in one place. `make` lists it.
GO ?= go
# The modules besides the main one. The light one is tested with it; the heavy one has the requirements of its peers,
# the gateway those of gRPC and of YDB's SDK.
LIGHT := client/discovery/grpcresolver
HEAVY := bench
GATEWAY := gateway/ydb
# How tests are built and run: no debugger reads their binaries and those that they build; vet has a run of its own, and
# packages run two to a processor, as many of them wait for leases to end.
GOTEST := GOFLAGS="$(GOFLAGS) -ldflags=-w" $(GO) test -vet=off -p $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))
# How long each fuzz target runs with `make fuzz`.
FUZZTIME ?= 2m
# How long `make soak`, `make chaos` and `make disk` run.
DURATION ?= 10m
# What `make chaos` plays again: the acts of a seed, or one of them; 0 for new ones, and for all.
SEED ?= 0
ACT ?= 0
# How many semaphores the host of `make start` and `make beside` has.
OBJECTS ?= 1000000
# How many turns `make joins` measures.
TURNS ?= 5
# How many consoles `make consoles` opens.
CONSOLES ?= 200

.PHONY: list run test check race planted fuzz fuzz-short bench bench-peers engine console screenshots soak soak-members soak-restores chaos disk joins start beside consoles trace ydb

list: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | column -t -s "$$(printf '\t')"

run: ## one host with its embedded default
	$(GO) run ./cmd/signalbox serve

test: ## all tests
	$(GOTEST) ./...
	cd $(LIGHT) && $(GOTEST) ./...

check: ## format, vet, staticcheck, race detector, a little fuzzing
	@unformatted="$$(gofmt -l $$(git ls-files '*.go'))"; \
	if [ -n "$$unformatted" ]; then echo "not gofmt-ed:"; echo "$$unformatted"; exit 1; fi
	cd .ci/tools && $(GO) build -o "$(CURDIR)/bin/staticcheck" honnef.co/go/tools/cmd/staticcheck
	@for module in . $(LIGHT) $(HEAVY) $(GATEWAY); do \
		echo "vet, staticcheck in $$module"; \
		(cd $$module && $(GO) vet ./... && "$(CURDIR)/bin/staticcheck" ./...) || exit 1; \
	done
	cd $(HEAVY) && $(GO) test ./...
	cd $(GATEWAY) && $(GOTEST) ./...
	$(MAKE) race
	$(MAKE) fuzz-short

race: ## all tests under the race detector, the long ones shortened
	$(GOTEST) -race -short -timeout 20m $$($(GO) list ./... | grep -vE '/(docs|test/tidy)$$')
	cd $(LIGHT) && $(GOTEST) -race -short -timeout 20m ./...

ydb: ## the tests of the gateway for YDB's SDKs, with faults of processes and leaders that are killed, and those of ydb-go-sdk 50 times, with the race detector
	cd $(GATEWAY) && $(GO) test -race ./signalbox-ydb
	cd $(GATEWAY) && $(GO) test -race -timeout 60m -parallel 16 . -sdk-rounds 50 -faults -leader-kills 6

planted: ## every bug that is planted in the Go client's source, in worlds and in clusters, which tests have to notice
	$(GO) test ./client/process ./client/barrier ./client/assign -run TestPlantedBugsAreNoticed -count 1 -v -args -bugs.all
	$(GO) test ./test/simulation -run TestPlantedBugs -count 1 -timeout 0 -v -args -bugs.all
	$(GO) test ./test/chaos -run TestAClusterThatBreaksItsPromisesIsFound -count 1 -timeout 0 -v -args -bugs.all

fuzz: ## every fuzz target, FUZZTIME each (default 2m)
	@GO="$(GO)" .ci/fuzz $(FUZZTIME)

fuzz-short:
	@GO="$(GO)" .ci/fuzz 30000x

bench: ## the benchmarks, in a form that benchstat reads
	$(GO) test -run '^$$' -bench . -benchmem -count 3 ./...

bench-peers: ## the race against etcd and ZooKeeper, an hour; flags in BENCH_PEERS
	cd bench && $(GO) build -o ../bin/bench . && ../bin/bench run $(BENCH_PEERS)

engine: ## after a change of the engine's version: what is set in it from outside must still be there
	$(GO) test ./shard/raftlog -run 'TestTheEngine|TestABatchTakesLittleMemory' -count 1 -v

console: ## the console in a real browser: Chromium, such as of the package chromium
	$(GO) test ./gateway/http/console -run TestInABrowser -count 1 -timeout 10m -v -args -browser

screenshots: ## what every page of the console looks like, into bin/screenshots, and three of them into docs
	mkdir -p bin/screenshots
	$(GO) test ./gateway/http/console -run 'TestInABrowser|TestPictures' -count 1 -timeout 10m -args -browser -shots "$(CURDIR)/bin/screenshots"
	cp bin/screenshots/overview-light-1280.png bin/screenshots/semaphore-dark-1280.png \
		bin/screenshots/rollout-light-1280.png docs/console

soak: ## simulated worlds of fresh seeds, for DURATION (default 10m)
	$(GO) test ./test/simulation -run TestSoak -soak $(DURATION) -timeout 0 -v

soak-members: ## the same of worlds whose hosts come and go
	$(GO) test ./test/simulation -run TestSoak -members -soak $(DURATION) -timeout 0 -v

soak-restores: ## the same of worlds whose cluster is saved and restored
	$(GO) test ./test/simulation -run TestSoak -restores -soak $(DURATION) -timeout 0 -v

chaos: ## real hosts that are killed, stopped and cut off, for DURATION (default 10m); SEED and ACT play it again
	$(GO) test ./test/chaos -run '^TestChaos$$' -duration $(DURATION) -seed $(SEED) -act $(ACT) -count 1 -timeout 0 -v

disk: ## what 64 objects of 60 kB take on the disk that are changed for DURATION (default 10m), as CSV
	$(GO) test ./test/survival -run '^TestTheDiskOfFewLargeObjects$$' -disk $(DURATION) -count 1 -timeout 0 -v

start: ## how long a host with OBJECTS (default 1000000) semaphores takes from a kill -9 until it serves, five times
	$(GO) test ./test/survival -run '^TestTheStartAfterAKill$$' -objects $(OBJECTS) -count 1 -timeout 0 -v

joins: ## locks while a host joins, and on 1 to 9 hosts, TURNS times each (default 5)
	$(GO) test ./test/survival -run '^(TestLocksBesideAJoin|TestLocksWithCopies)$$' -joins $(TURNS) -count 1 -timeout 0 -v

consoles: ## what those who lock notice of CONSOLES (default 200) open consoles, in five turns
	$(GO) test ./test/survival -run '^TestOpenConsolesAndThoseWhoLock$$' -consoles $(CONSOLES) -count 1 -timeout 0 -v

beside: ## locks on a host with OBJECTS (default 1000000) semaphores beside backups and snapshots, in turns: six minutes on a quiet machine
	$(GO) test ./test/survival -run '^TestLocksBesideBackups$$' -beside $(OBJECTS) -count 1 -timeout 0 -v

trace: ## operations hop by hop, in microseconds; flags in BENCH_TRACE
	cd $(HEAVY) && $(GO) build -o ../bin/bench . && ../bin/bench trace $(BENCH_TRACE)
