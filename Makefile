# Enroute. `make help` lists the targets. Missing packages are installed first, by apt.

# Packages to build and to run Enroute.
PACKAGES = libhiredis-dev libssl-dev zlib1g-dev redis-server libjs-leaflet util-linux
# Additional packages for the tests: proxies, enroute.js, the pages in a browser, a queue, the benchmarks' smoke test.
TEST_PACKAGES = haproxy socat nginx-light libnginx-mod-stream prometheus prometheus-alertmanager wget mmdebstrap nodejs node-ws \
    node-redis node-react node-react-dom node-react-test-renderer node-typescript esbuild chromium chromium-headless-shell python3 \
    python3-venv redis-tools iproute2 openssl curl jq valgrind binutils libc6-dbg systemd systemd-container dpkg-dev man-db shellcheck
# Debian's npm conflicts with builds of Node that contain their own.
TEST_PACKAGES += $(shell command -v npm >/dev/null || echo npm)
SUDO = $(shell [ "$$(id -u)" = 0 ] || echo sudo)

# The program that `make install` and `make deb` use; empty for .build/release/enroute.
ENROUTE =

.PHONY: help run deps packages build build-tests compile-tests release install uninstall deb instructions twin test test-swift \
    test-javascript test-client test-conformance test-browser test-deploy test-beside environments test-hostile test-api test-benchmarks \
    build-benchmarks picture screens test-long long-failover long-histories long-seeds long-fuzz long-webhooks long-freeze check check-deploy lint format bench bench-gate clean

help: ## lists these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

# Options of `enroute demo`, for example DEMO="--tls --speed 4".
DEMO =

run: build ## shows deliveries in a town, live, with a Redis of its own (DEMO="--tls --speed 4")
	.build/debug/enroute demo $(DEMO)

deps: packages .build-tools/requirements.txt ## installs what building and testing need (apt; moto from PyPI)

deps compile-tests: PACKAGES += $(TEST_PACKAGES)

# Runs apt only when something is missing. Debian starts a redis-server with the package; the tests start their own.
packages:
	@command -v swift >/dev/null || { echo "Swift is not installed: https://www.swift.org/install/linux/" >&2; exit 1; }
	@missing=$$(for package in $(PACKAGES); do \
	    dpkg-query -W -f '$${Status}' $$package 2>/dev/null | grep -q 'ok installed' || echo $$package; done); \
	if [ -n "$$missing" ]; then \
	    echo "installing: $$missing"; \
	    $(SUDO) apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq $$missing >/dev/null; \
	fi

# Programs that only tests use, from PyPI.
.build-tools/requirements.txt: Tests/Swift/requirements.txt | packages
	rm -rf .build-tools
	python3 -m venv .build-tools/venv
	.build-tools/venv/bin/pip install --quiet --disable-pip-version-check -r $<
	cp $< $@

build: packages ## builds for development: .build/debug/enroute
	swift build

# Exclusivity is checked in debug builds and in tests. The dependencies are part of the hot path too
# (Sources/SecureSocket/decisions). Swift's standard library is linked in, because machines that run gateways have no
# toolchain.
RELEASE = -c release -Xswiftc -enforce-exclusivity=unchecked --static-swift-stdlib

# The commit, for the metric enroute_build_info.
release instructions: export ENROUTE_BUILD_REVISION ?= $(shell git rev-parse HEAD 2>/dev/null)

release: packages ## builds for production: .build/release/enroute
	swift build $(RELEASE) --product enroute
	@if ldd .build/release/enroute | grep -E 'libswift|libFoundation|not found'; then \
	    echo "error: .build/release/enroute needs these libraries, which machines without Swift lack" >&2; exit 1; fi

# Counts instructions of the release build, with the same flags, so that neither build repeats the other's work.
instructions: packages
	swift build $(RELEASE) --product enroute-instructions

# The same gateway on NIOSSL's handler, for the benchmarks: .build-twin/release/enroute.
twin: packages
	ENROUTE_BUILD_TWIN=1 swift build $(RELEASE) --product enroute --scratch-path .build-twin

# MARK: installation

install: ## installs what `make release` built, with units and guides (DESTDIR, PREFIX; deploy/install.mk)
	@$(MAKE) --no-print-directory -f deploy/install.mk install

uninstall:
	@$(MAKE) --no-print-directory -f deploy/install.mk uninstall

deb: ## builds a Debian package of it: .build-deploy/enroute_*.deb
	deploy/debian/build $(ENROUTE)

check: lint ## what CI runs: linters, build, the everyday tests, and whether the benchmarks run
	@$(MAKE) --no-print-directory --jobs=2 compile-tests environments
	@$(MAKE) --no-print-directory test READY=1 MOSTLY_IDLE="$(MOSTLY_IDLE) build-benchmarks" BESIDE="test-benchmarks $(BESIDE)"

# The Python environments of the tests. They are made while the compiler runs, so that it waits for no download.
environments: deps
	bash -ec '. Tests/Browser/environment; . Tests/Deploy/environment; here=Tests/Conformance; . $$here/environment'

# MARK: tests

# With READY=1, nothing is installed or built first, because another make has done it.
READY =
BUILT = $(if $(READY),,deps build)
BUILT_TESTS = $(if $(READY),,build-tests)

test: test-swift ## builds and runs the everyday tests: all in Swift, and the others in short
	@$(MAKE) --no-print-directory test-hostile READY=1 HOSTILE="--lean"
	@echo "running $(MOSTLY_IDLE) beside the sensitive tests of deploy/; each prints its output at its end"
	@$(MAKE) --no-print-directory --jobs=2 --keep-going --output-sync=recurse READY=1 DEPLOY=--sensitive test-deploy $(MOSTLY_IDLE)
	@$(MAKE) --no-print-directory test-beside

# Targets that run beside the sensitive tests of deploy/, one after the other. They take two minutes, and wait half of
# the time.
MOSTLY_IDLE = test-conformance

# Targets that wait most of the time, three at a time; the tests of the pages and of deploy/ run two files at a time.
# Each prints its output when it ends. If one fails, the others still run, and make fails at the end. Everything must be
# installed and built.
BESIDE = test-browser test-deploy test-javascript test-client check-deploy

test-beside:
	@echo "running $(BESIDE), three at a time; each prints its output at its end"
	@$(MAKE) --no-print-directory --jobs=3 --keep-going --output-sync=recurse READY=1 BROWSER="-m lean -n 2 --dist loadfile" DEPLOY=--others $(BESIDE)

build-tests: deps compile-tests

compile-tests: packages
	swift build --build-tests --explicit-target-dependency-import-check error

# Arguments of `swift test`, for example TESTS="--filter GatewayTests".
TESTS =

test-swift: $(BUILT_TESTS)
	Tests/Swift/run $(TESTS)

# enroute.js: its rules, the library with the built gateway, and the npm package with React, TypeScript and a bundler.
# Needs Node 18 or newer; Debian has one.
test-javascript: $(BUILT_TESTS)
	Tests/second-look node --test Tests/JavaScript/*.test.mjs

# The Swift client for apps, without its tests, which are part of `make test-swift`: the code of its documents, its code
# for Apple's systems, its public interface, and that nothing is left behind.
test-client: $(BUILT_TESTS)
	Sources/Client/Tests/check .build/debug
	ENROUTE_MEMORY=1 Tests/Swift/run --filter '10,000 positions'

# The conformance kit with the clients in Swift, JavaScript and Python, and with faulty ones, whose faults it must find.
# Your own client: CONFORMANCE='--client "python3 my_driver.py"' (Tests/Conformance/README.md).
CONFORMANCE =

test-conformance: $(BUILT_TESTS)
	Tests/second-look Tests/Conformance/run $(CONFORMANCE)

# The pages in Debian's Chromium, with Playwright and axe from PyPI (in .build-browser). Arguments of pytest:
# BROWSER="-m lean -k customer".
BROWSER =

test-browser: $(BUILT)
	Tests/Browser/run $(BROWSER)

# A screenshot of every state of every page, light and dark, on a phone and a desktop:
# .build-browser/screens/index.html. Arguments of pytest: SCREENS="-k rider".
SCREENS =

screens: $(BUILT)
	Tests/Browser/screens $(SCREENS)

# Records the animated picture of README.md from the demo's stage. Options of Tests/Browser/picture: PICTURE="--seconds 10".
PICTURE =

picture: deps build
	Tests/Browser/picture $(PICTURE)

# Running sites as deploy/ describes them: balancers, units, alerts. Arguments of pytest: DEPLOY="-k haproxy";
# DEPLOY="-m long" runs the tests that take minutes.
DEPLOY =

test-deploy: $(BUILT)
	Tests/Deploy/run $(DEPLOY)

# Attacks on real gateways: a quarter of an hour. Options of Tests/Hostile/run: HOSTILE="--only messages --seed 7".
HOSTILE =

test-hostile: $(BUILT)
	Tests/Hostile/run $(HOSTILE)

# Schemathesis sends requests to a gateway according to /openapi.json, as every role and without one, and a generated
# client is used too. Takes ten minutes or more, because values for long patterns are slow to generate; API=--lean sends
# fewer. Arguments of `schemathesis run`: API="--max-examples 1000".
SCHEMATHESIS = schemathesis==4.32.5
CLIENT_GENERATOR = openapi-python-client==0.29.1
API =

test-api: $(BUILT)
	@test -x .build-api/venv/bin/schemathesis || { python3 -m venv .build-api/venv && \
	    .build-api/venv/bin/pip install --quiet '$(SCHEMATHESIS)'; }
	@test -x .build-api/client/bin/openapi-python-client || { python3 -m venv .build-api/client && \
	    .build-api/client/bin/pip install --quiet '$(CLIENT_GENERATOR)'; }
	Tests/Interface/run .build/debug/enroute .build-api $(API)

# Tests that take minutes to hours, one after the other. Each of these names is explained at its target below.
LONG = failover histories seeds fuzz webhooks freeze

test-long: ## what takes long: LONG="failover histories seeds fuzz webhooks freeze", all or some of them
	@for part in $(LONG); do $(MAKE) --no-print-directory long-$$part || exit 1; done

# Sentinels and clusters fail over ten times each, and print how long it took: a quarter of an hour.
long-failover: build-tests
	ENROUTE_FAILOVERS=10 ENROUTE_REPORT=1 Tests/Swift/run --filter 'FailoverTests|GatewayOutageTests'

# Compares the reports of enroute.js and of the Swift client while a gateway is frozen for 90 s of real time.
long-freeze: build-tests
	ENROUTE_FREEZE_SECONDS=90 Tests/Swift/run --filter FreezeReportTests

# 100,000 changes of jobs while gateways are killed; two endpoints receive every event in order. Half an hour or more.
long-webhooks: build
	ENROUTE_WEBHOOK_CHANGES=100000 Tests/Deploy/run -k gateways_are_killed -s

# The first seed of both targets that follow; FIRST_SEED=1 repeats the seeds with which `make test` begins.
FIRST_SEED = $(shell date +%s)000

# 100,000 histories of four clients against real Redis, 50 killed servers and 50 failovers in the middle of some, 100,000 races
# for one rider: seven minutes or more.
long-histories: build-tests
	ENROUTE_HISTORIES=100000 ENROUTE_RACES=100000 ENROUTE_FIRST_SEED=$(FIRST_SEED) Tests/Swift/run --filter LinearizabilityTests

# More seeds of the simulator, some 2,500 per second and core. A failing seed prints what happened; add it to
# Tests/SimulationTests/SimulationTests.swift once it is fixed.
SEEDS = 10000000

long-seeds: build-tests
	ENROUTE_SEEDS=$(SEEDS) ENROUTE_FIRST_SEED=$(FIRST_SEED) Tests/Swift/run --filter SimulationTests

# Runs each fuzzer for this many seconds. Findings are in .build-fuzz/crashes; add them to Tests/Fuzzing/Corpus once
# they are fixed.
FUZZ_SECONDS = 60
FUZZERS = FuzzFollowTable FuzzHTTPHead FuzzMessages FuzzOutbox FuzzProxyHeader FuzzReportQueue FuzzRESP FuzzWebSocket

long-fuzz: packages
	@mkdir -p .build-fuzz/crashes
	@for fuzzer in $(FUZZERS); do \
	    ENROUTE_FUZZ=1 swift build -c release --scratch-path .build-fuzz --product $$fuzzer -Xswiftc -sanitize=fuzzer,address \
	        -Xswiftc -assert-config -Xswiftc Debug -Xswiftc -enable-testing -Xswiftc -use-ld=lld \
	        -Xcc -fsanitize=fuzzer-no-link || exit 1; \
	    mkdir -p .build-fuzz/corpus/$$fuzzer; \
	    ASAN_OPTIONS=detect_leaks=0 .build-fuzz/release/$$fuzzer -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -timeout=10 \
	        -artifact_prefix=.build-fuzz/crashes/$$fuzzer- .build-fuzz/corpus/$$fuzzer Tests/Fuzzing/Corpus/$$fuzzer || exit 1; \
	done

# MARK: style

STYLED = Sources Tests benchmarks/NIOSSLTwin benchmarks/Sources Package.swift

lint: ## fails where a file is not as .swift-format says
	swift format lint --strict --recursive --parallel $(STYLED)

# Operators' own tools check the files in deploy/.
check-deploy: packages
	@$(MAKE) --no-print-directory -C deploy check

format: ## writes every file as .swift-format says
	swift format --in-place --recursive $(STYLED)

# MARK: benchmarks, all of them in benchmarks/Makefile

# A target of benchmarks/Makefile; `make bench BENCH=help` lists them.
BENCH = gateway

bench: ## measures this gateway beside its twin on NIOSSL, minutes (BENCH=help lists the other benchmarks)
	@$(MAKE) --no-print-directory -C benchmarks $(BENCH)

bench-gate: ## fails when a location, a connection or a status costs 3 % more instructions than before
	@$(MAKE) --no-print-directory -C benchmarks gate

# Uses only idle time of the processors.
build-benchmarks:
	@nice -n 19 $(MAKE) --no-print-directory -C benchmarks build

test-benchmarks: $(BUILT)
	@Tests/second-look $(MAKE) --no-print-directory -C benchmarks smoke

clean: ## removes all that was built and downloaded
	rm -rf .build .build-twin .build-fuzz .build-api .build-browser .build-conformance .build-hostile .build-deploy .build-tools \
	    benchmarks/.build
