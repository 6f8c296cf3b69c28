# What a developer needs, in one place. `make` lists it.
GO ?= go
# The modules besides the main one. The light one is tested with it; the heavy one has the requirements of its peers,
# the gateway those of gRPC and of YDB's SDK.
LIGHT := client/discovery/grpcresolver
HEAVY := bench
GATEWAY := gateway/ydb
# What makes releases has the requirements of packagers, and its tests those of helm.
RELEASE := deploy/release
# How tests are built and run: no debugger reads their binaries and those that they build; vet has a run of its own, and
# packages run two to a processor, as many of them wait for leases to end. A package has twice the ten minutes of all.
GOTEST := GOFLAGS="$(GOFLAGS) -ldflags=-w" $(GO) test -vet=off -timeout 20m -p $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))
# The packages whose tests take longest are listed first: tests run in the order of the list, and a long one that begins
# last would run alone. Go drops the second mention of a package.
LONGEST := ./client ./docs ./shard/raftlog ./cmd/signalbox ./test/chaos ./test/simulation ./shard/machine ./server/transport ./server ./server/host ./test/conform ./server/executor
# The client in Python, and the Python that tests it: that of Debian, with its packages.
PYTHON ?= /usr/bin/python3
# The versions of Node that test the client in TypeScript, of which sdk/typescript/nodes/package-lock.json has the bytes.
NODES := 22 24
NPM_CI := npm ci --ignore-scripts --no-audit --no-fund --loglevel error
# How long each fuzz target runs with `make fuzz`.
FUZZTIME ?= 2m
# How long `make soak`, `make soak-engine`, `make chaos` and `make disk` run.
DURATION ?= 10m
# How long `make soak-moves` runs on each log.
SOAK_FOR ?= $(DURATION)
# What `make chaos` plays again: the acts of a seed, or one of them; 0 for new ones, and for all. DRIVERS are clients of
# other languages that take part, with commas: go, python, typescript.
SEED ?= 0
ACT ?= 0
DRIVERS ?=
# MOVES=1 lets slots move all the time in `make chaos`.
MOVES ?=
# How many semaphores the host of `make start` and `make beside` has.
OBJECTS ?= 1000000
EVERY ?= 100ms
# How many sessions `make sessions` has, and how many entries the list of `make lists`.
SESSIONS ?= 1000000
ENTRIES ?= 10000
HOSTS ?= 0
# How many turns `make joins` and `make lists` measure.
TURNS ?= 5
# How many slots `make moves` moves, and how many writes a second hit them.
SLOTS ?= 1000
RATE ?= 30000
# Flags of the worlds of `make soak-engine`, such as -hosts 5.
SOAK ?=
# What `make packages` is told: -need fails where a test would be skipped.
PACKAGES ?=
# How many consoles `make consoles` opens.
CONSOLES ?= 200
MIB ?= 128,256,1024

.PHONY: list run test nightly survival check lint modules patches race planted slots fuzz fuzz-short bench bench-peers engine console generated pods screenshots soak soak-engine soak-members soak-spread soak-restores soak-moves chaos disk slow idle joins start sessions full memory lists moves grow beside share consoles pair trace ydb release packages python typescript typescript-tools typescript-rules

list: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | column -t -s "$$(printf '\t')"

# As releases are built: without C. A compression that only the engine's own log store would use takes longest of all in
# a fresh clone that has a C compiler, and a package that was compiled with C is compiled again without it. The race
# detector needs C.
export CGO_ENABLED = 0
RACE := env CGO_ENABLED=1

run: ## one host with its embedded default
	$(GO) run ./cmd/signalbox serve

# Long random runs of a machine or a codec, and counts of allocations, in one goroutine: `make worlds` has them. No race
# can be in them, and the detector makes them ten times as long.
ALONE := AgreesWithIts(Twin|Model)|AreAsTheirModelSays|TheTwinForetells|Allocates|DamagedPayloads|UnknownTrailing|QuotasCountWhat|PlacesComeToRest|TestInvariants|MistakesInNumbers

# Long tests of hosts as processes, in other packages than those of `make survival`. They mostly wait: `make worlds` has
# them beside the worlds.
WAITING := HostsComeAndGoAsTyped|GoDriverConformsAsThePageSays|RecipeOfRolloutsWorksAsTyped|ThoughTheirProcessesAreKilled|APausedServerEndsTheCommandBeforeItsLease

# Tests that take a processor for long, but do not wait: `make worlds` has them. Those of BugsInTheSource compile a
# package again for each bug.
LONG := BugsInTheSourceAreNoticed|LargeClusterComesToRest|LiveOnAPartOfTheHosts|FleetsOfPartsComeToRest|FleetsComeToRest|MistakesInAnswersAreNoticed|NoSessionEndsWhoseClientBelieves|OwnersAreThoseOfTheNaiveList

test: ## the tests of all packages, within ten minutes; those that take real clusters apart are `make survival`, long ones `make worlds`
	@df -Pk "$${TMPDIR:-/tmp}" | awk 'NR == 2 && $$4 < 5 * 1048576 { print "the tests need 5 GiB of free disk space for temporary files: a host rejects changes on a nearly full disk"; exit 1 }'
	$(GOTEST) -skip '$(ALONE)|$(WAITING)|$(LONG)' $$($(GO) list $(LONGEST) ./... | grep -vE '/test/(survival|chaos|simulation)$$')
	cd $(LIGHT) && $(GOTEST) ./...

worlds: ## worlds in virtual time, long random runs of machines and codecs, judged by models, and long tests that wait
	@$(GOTEST) -run '$(WAITING)' ./docs ./shard/raftlog ./cmd/signalbox & waiting=$$!; \
	$(GOTEST) ./test/simulation && \
	$(GOTEST) -run '$(ALONE)|$(LONG)' $$(grep -rlE '^func Test.*($(ALONE)|$(LONG))|^func TestInvariants' --include=*_test.go client cmd gateway/http loadgen protocol server shard test | xargs -n 1 dirname | sort -u | sed 's,^,./,'); \
	code=$$?; wait $$waiting && exit $$code

survival: ## real hosts that are killed, stopped, cut off, filled, upgraded and set back, and what their clients notice
	$(GOTEST) ./test/survival ./test/chaos

# Files that the spell checker skips: word counts of other projects, checksums, pictures.
UNSPELLED := models\.tsv$$|go\.sum$$|\.(png|svg)$$

check: lint modules race fuzz-short ## format, spelling, English, vet, staticcheck, the modules of their own, race detector, a little fuzzing

lint: ## format, spelling, English, vet, staticcheck
	@unformatted="$$(gofmt -l $$(git ls-files '*.go'))"; \
	if [ -n "$$unformatted" ]; then echo "not gofmt-ed:"; echo "$$unformatted"; exit 1; fi
	cd .ci/tools && $(GO) build -o "$(CURDIR)/bin/" honnef.co/go/tools/cmd/staticcheck github.com/golangci/misspell/cmd/misspell
	git ls-files -z | grep -zvE '$(UNSPELLED)' | xargs -0 bin/misspell -error
	$(GO) test ./test/english -count 1
	@for module in . $(LIGHT) $(HEAVY) $(GATEWAY) $(RELEASE); do \
		echo "vet, staticcheck in $$module"; \
		(cd $$module && $(GO) vet ./... && "$(CURDIR)/bin/staticcheck" ./...) || exit 1; \
	done

modules: ## the tests of the benchmarks and of the gateway for YDB's SDKs
	cd $(HEAVY) && $(GOTEST) ./...
	cd $(GATEWAY) && $(GOTEST) ./...

patches: ## the sample changes of CONTRIBUTING.md, compiled
	$(GO) test ./test/tidy -run TestAChangeTouchesFewFiles -count 1 -timeout 20m -v -args -compiled

# Packages of rules and forms, which start no goroutine, nor do their tests, and tests of pages.
PURE := shard/(governor|hosts|plan|access|rollout|process|slots)|protocol/(health|field|host|access|rollout|process)|gateway/operation|internal/apijson|server/(health|health/overview|settings)|cmd/signalbox/(hosts|status|rollout)|test/(english|history|keptlog|snippets|twin)|deploy

# Tests that are long under the race detector: in one goroutine, in worlds like those of other tests, or in processes.
LONE := MessageSurvivesTheWire|RecordsSurviveTheWire|SchemaIs|ExamplesOfRecords|RecordsOfOtherVersions|RegenerationKeeps|MistakesInRenewals|MoreLinksThanItMay|GiveTheMemoryOfABurst|LimitOfNodes|LimitOfLinks|OwnersAreThoseOfTheNaiveList
WORLDS := HostsComeAndGo$$|WaitGoesOnUnderTheNextLeader|IsNotHeardIsOfflineUntilItReturns|LiveThroughAStandstillOfTheirEventLoop|AreMadeAnewInTheMiddle|ExpelledWhileItIsCutOff|IsRestoredInTheMiddle|QuotasAreUsedUp
UNRACED := $(ALONE)|$(WAITING)|$(LONE)|$(WORLDS)|LenientVectors|BugsInTheSource|LargeClusterComesToRest|NoSessionEndsWhoseClientBelieves|EverythingComesInTheOrderOfItsConnection|ConnectionsOfOneAddressShareAlike|LostAnswersOfNodesAreNoMistake|SessionsThatSlowClientsGaveUpEnd|FleetsOfPartsComeToRest

race: ## tests under the race detector, the long ones shortened; not those whose hosts are processes, which are built without, and not those of UNRACED
	.ci/race $(RACE) $(GOTEST) -race -short -skip '$(UNRACED)' $$($(GO) list $(LONGEST) ./... | grep -vE '/(docs|test/tidy|test/survival|$(PURE))$$')
	cd $(LIGHT) && "$(CURDIR)/.ci/race" $(RACE) $(GOTEST) -race -short ./...

release: ## archives, packages, images, a chart, an npm package, bills of materials and checksums, into dist
	rm -rf dist
	cd $(RELEASE) && $(GO) run . -source "$(CURDIR)" -out "$(CURDIR)/dist"

packages: ## what a release makes, installed, run, upgraded and removed by tests, the chart rendered; PACKAGES=-need skips none
	cd $(RELEASE) && $(GOTEST) -count 1 . -args $(PACKAGES)

ydb: ## the tests of the gateway for YDB's SDKs, with faults of processes and leaders that are killed, and those of ydb-go-sdk 50 times, with the race detector
	cd $(GATEWAY) && $(RACE) $(GO) test -race ./signalbox-ydb
	cd $(GATEWAY) && $(RACE) $(GO) test -race -timeout 60m -parallel 16 . -sdk-rounds 50 -faults -leader-kills 6

python: ## the client in Python: bytes, behaviour, real hosts, three that are killed, types, its page, a wheel and an sdist
	$(GO) build -o bin/signalbox ./cmd/signalbox
	cd sdk/python && SIGNALBOX="$(CURDIR)/bin/signalbox" PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=src:tests \
		$(PYTHON) -W error -m unittest discover -s tests

typescript: typescript-tools ## the client in TypeScript, with Node 22 and 24: types, rules, bytes, scripts, real hosts, its page, a package
	$(GO) build -o bin/signalbox ./cmd/signalbox
	cd sdk/typescript && node_modules/.bin/tsc
	@$(MAKE) --no-print-directory -j --output-sync=target $(addprefix typescript-,$(NODES) rules)

# The pinned versions of Node, TypeScript and eslint.
typescript-tools:
	@cd sdk/typescript && { test node_modules/.package-lock.json -nt package-lock.json || $(NPM_CI); } && \
	{ test nodes/node_modules/.package-lock.json -nt nodes/package-lock.json || $(NPM_CI) --prefix nodes; }

# Targets that `make typescript` runs in parallel. Tests start many programs: with the cache, Node compiles them once.
typescript-rules:
	cd sdk/typescript && node_modules/.bin/eslint .

typescript-%:
	cd sdk/typescript && SIGNALBOX="$(CURDIR)/bin/signalbox" NODE_COMPILE_CACHE="$(CURDIR)/sdk/typescript/build/cache" \
		nodes/node_modules/node-$*-*/bin/node --test --test-concurrency=4 --test-reporter=dot "build/test/*.test.js"

planted: ## every bug that is planted in the source of the Go client, of hosts and of the log, in worlds and in clusters, which tests have to notice
	$(GO) test ./test/conform ./client/process ./client/barrier ./client/assign ./server ./server/replica -run TestBugsInTheSourceAreNoticed -count 1 -v -args -bugs.all
	$(GO) test ./test/simulation -run TestPlantedBugs -count 1 -timeout 0 -v -args -bugs.all
	$(GO) test ./test/chaos -run 'TestAClusterThatBreaksItsPromisesIsFound|TestMistakesInAClientOfAnotherLanguageAreFound' -count 1 -timeout 0 -v -args -bugs.all
	$(GO) test ./test/engine -run TestBugsInTheSourceAreNoticed -count 1 -timeout 0 -v -args -bugs.all -bugs.runs 20

slots: ## every interleaving of three moves of a slot between shards, and of the numbers of a session: minutes
	$(GO) test ./shard/slots -run 'TestNothingGoesWrong|TestEveryMistake' -count 1 -timeout 0 -v -args -whole

nightly: planted slots slow pods grow fuzz ydb soak soak-members soak-spread soak-restores soak-moves soak-engine chaos ## what takes too long for each change: all planted bugs, all interleavings, long fuzzing, worlds of fresh seeds; hours

slow: ## a slow host that does not lead, until it has recovered, and failovers between distant hosts
	$(GO) test ./test/survival -run '^(TestSlowHostDoesNotLead|TestDistantHostsElectNoLeader)$$' -recovery -distances -count 1 -timeout 30m -v

pods: ## the pods of the chart as processes: more and fewer hosts, a node drain, a lost volume; needs no Kubernetes
	cd $(RELEASE) && $(GOTEST) -count 1 -run TestThePodsOfTheChartOnProcesses . -v -args -pods

fuzz: ## every fuzz target, FUZZTIME each (default 2m)
	@GO="$(GO)" .ci/fuzz $(FUZZTIME)

fuzz-short:
	@GO="$(GO)" .ci/fuzz 10000x 4

bench: ## the benchmarks, in a form that benchstat reads
	$(GO) test -run '^$$' -bench . -benchmem -count 3 ./...

bench-peers: ## the race against etcd and ZooKeeper, an hour; flags in BENCH_PEERS
	cd bench && $(GO) build -o ../bin/bench . && ../bin/bench run $(BENCH_PEERS)

engine: ## after a change of the engine's version: what is set in it from outside must still be there
	$(GO) test ./shard/raftlog -run 'TestTheEngine|TestABatchTakesLittleMemory' -count 1 -v

console: ## the console in a real browser: Chromium, such as of the package chromium
	$(GOTEST) ./gateway/http/console -run TestInABrowser -count 1 -timeout 10m -v -args -browser

generated: ## clients in TypeScript and Java that are generated from the OpenAPI document: node, npm, javac, and downloaded packages
	$(GOTEST) ./gateway/http -run 'Generated.*Client' -count 1 -v -args -generated

screenshots: ## what every page of the console looks like, into bin/screenshots, and three of them into docs
	mkdir -p bin/screenshots
	$(GO) test ./gateway/http/console -run 'TestInABrowser|TestPictures' -count 1 -timeout 30m -args -browser -shots "$(CURDIR)/bin/screenshots"
	cp bin/screenshots/overview-light-1400.png bin/screenshots/semaphore-dark-1400.png \
		bin/screenshots/rollout-light-1400.png docs/console

soak: ## simulated worlds of fresh seeds, for DURATION (default 10m)
	$(GO) test ./test/simulation -run TestSoak -soak $(DURATION) -timeout 0 -v

soak-members: ## the same of worlds whose hosts come and go, after one that grows to 30 hosts
	$(GO) test ./test/simulation -run TestAClusterGrowsToThirtyHosts -wide -count 1 -timeout 0 -v
	$(GO) test ./test/simulation -run TestSoak -members -soak $(DURATION) -timeout 0 -v

soak-spread: ## the same of worlds whose shards are on a part of the hosts, of those that lose their majority, and of up to 30 hosts
	$(GO) test ./test/simulation -run TestSoak -spread -soak $(DURATION) -timeout 0 -v
	$(GO) test ./test/simulation -run TestSoak -spread -losses -soak $(DURATION) -timeout 0 -v
	$(GO) test ./test/simulation -run TestSoak -wide -soak $(DURATION) -timeout 0 -v

soak-restores: ## the same of worlds whose cluster is saved and restored
	$(GO) test ./test/simulation -run TestSoak -restores -soak $(DURATION) -timeout 0 -v

soak-moves: ## worlds with slots that move, on the log in memory and on the production log for SOAK_FOR each (default DURATION); goes on from the last seed of test/simulation/soak-moves.txt, and appends a line per log
	for engine in false true; do \
		$(GOTEST) ./test/simulation -run '^TestSoakMoves$$' -engine=$$engine -soak $(SOAK_FOR) -count 1 -timeout 0 -v \
			-tally soak-moves.txt -build $$(git describe --always --exclude '*' --dirty=+) || exit 1; \
	done

soak-engine: ## directed faults of the production log, worlds on it for DURATION (default 10m), and worlds of whole hosts on it for as long
	$(GOTEST) ./test/engine -run '^(TestDirectedFaults|TestSoak)$$' -soak $(DURATION) -count 1 -timeout 0 -v $(SOAK)
	$(GOTEST) ./test/simulation -run '^TestSoak$$' -engine -soak $(DURATION) -count 1 -timeout 0 -v $(SOAK)

chaos: ## real hosts that are killed, stopped and cut off, for DURATION (default 10m); SEED and ACT play it again; DRIVERS=python,typescript has those clients take part; HOSTS=9 has each shard on three of nine; MOVES=1 moves slots
	$(GO) test ./test/chaos -run '^TestChaos$$' -duration $(DURATION) -seed $(SEED) -act $(ACT) -hosts $(HOSTS) -drivers "$(DRIVERS)" $(if $(MOVES),-moves) -count 1 -timeout 0 -v

disk: ## what 64 objects of 60 kB take on the disk that are changed for DURATION (default 10m), as CSV
	$(GO) test ./test/survival -run '^TestTheDiskOfFewLargeObjects$$' -disk $(DURATION) -count 1 -timeout 0 -v

idle: ## how often a host without clients wakes up, and its processor time, by itself and one of three, for 20 s each
	$(GO) test ./test/survival -run '^TestWhatAnIdleHostTakes$$' -idle 20s -count 1 -timeout 0 -v

start: ## how long a host with OBJECTS (default 1000000) semaphores takes from a kill -9 until it serves, five times
	$(GO) test ./test/survival -run '^TestTheStartAfterAKill$$' -objects $(OBJECTS) -count 1 -timeout 0 -v

sessions: ## how long three hosts with SESSIONS (default 1000000) sessions are without locks when their leader is killed, five times
	$(GO) test ./test/survival -run '^TestANewLeaderOfManySessions$$' -many-sessions $(SESSIONS) -count 1 -timeout 0 -v

full: ## a cluster with OBJECTS (default 1000000) semaphores and a tenth as many sessions: quota, backup, joins, states compared, leaders killed, restored
	$(GO) test ./test/survival -run '^TestAFullCluster$$' -full $(OBJECTS) -count 1 -timeout 0 -v

memory: ## clients that fill hosts with MIB (default 128,256,1024) of memory each: one host, and three with one smaller; needs control groups
	$(GO) test ./test/survival -run '^(TestClientsThatFillTheMemoryEndNoHost|TestAHostThatPromisesTooMuchRefusesBeforeItIsFull|TestAHostWithLessMemoryThanTheOthersCounts)$$' -memory $(MIB) -count 1 -timeout 0 -v

lists: ## locks while 1,000 watchers open a list of ENTRIES (default 10000) at once, in TURNS (default 5) turns
	$(GO) test ./test/survival -run '^TestLocksBesideAListThatIsOpened$$' -list-entries $(ENTRIES) -list-turns $(TURNS) -count 1 -timeout 0 -v

grow: ## the guide to growing a cluster from three hosts and 4 shards to nine hosts and 16 shards, and back, as typed: minutes
	$(GO) test ./docs -run '^TestClusterGrowsAndShrinksAsTyped$$' -count 1 -timeout 0 -v -args -grow

moves: ## how long SLOTS (default 1000) slots pause for clients while they move and RATE (default 30000) writes a second hit them
	$(GO) test ./test/survival -run '^TestSlotsThatMoveUnderWrites$$' -moved-slots $(SLOTS) -moved-rate $(RATE) -count 1 -timeout 0 -v

joins: ## locks while a host joins, and on 1 to 9 hosts, TURNS times each (default 5)
	$(GO) test ./test/survival -run '^(TestLocksBesideAJoin|TestLocksWithCopies)$$' -joins $(TURNS) -count 1 -timeout 0 -v

share: ## memory, disk, packets and processor time of a host of 3, 6, 9 and 15 whose shards have three replicas each
	$(GO) test ./test/survival -run '^TestTheShareOfAHost$$' -share $(OBJECTS) -share-every $(EVERY) -count 1 -timeout 0 -v

consoles: ## what those who lock notice of CONSOLES (default 200) open consoles, in five turns
	$(GO) test ./test/survival -run '^TestOpenConsolesAndThoseWhoLock$$' -consoles $(CONSOLES) -count 1 -timeout 0 -v

beside: ## locks on a host with OBJECTS (default 1000000) semaphores beside collections of garbage, backups and snapshots, in turns: minutes on a quiet machine
	$(GO) test ./test/survival -run '^TestLocksBesideBackups$$' -beside $(OBJECTS) -count 1 -timeout 0 -v

pair: ## workloads beside their floors in turns of 50 ms: a minute each; flags in BENCH_PAIR
	cd $(HEAVY) && $(GO) build -o ../bin/bench . && ../bin/bench pair $(BENCH_PAIR)

trace: ## operations hop by hop, in microseconds; flags in BENCH_TRACE
	cd $(HEAVY) && $(GO) build -o ../bin/bench . && ../bin/bench trace $(BENCH_TRACE)
