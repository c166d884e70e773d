# Enroute. `make run` shows a live trip, `make test` runs every test; both install what is missing first.

PACKAGES = libhiredis-dev libssl-dev zlib1g-dev redis-server libjs-leaflet util-linux haproxy nginx-light
SUDO = $(shell [ "$$(id -u)" = 0 ] || echo sudo)
# Words for `enroute demo`, for example DEMO="--plain --speed 4".
DEMO =

.PHONY: run test test-javascript test-long test-failover test-api test-browser test-benchmarks test-hostile simulate install build release check fuzz bench bench-tracking bench-riders bench-recovery bench-status bench-pool bench-availability \
    bench-peers bench-tools bench-instructions instructions twin format lint clean

run: install build
	.build/debug/enroute demo $(DEMO)

# One after the other: who measures how long a peer may take is not to wait for six servers electing a master.
TEST = swift test --skip-build --disable-xctest
FLEETS = Fleet|DemoRelay|Balancer|Topology|LossyProxy|RestartableRedis|TLSRedis|GatewayTests.Outage|Failover|Durability|DeployedFiles|CheckTests|RevocationOutage|BlindGateway|BlindArrival|RecordedShape|ArrivalLease|WaitingPosition|TravelEnd|TicketRace|DisclosureTests|TransitionRace|GatewayTests.Queue|InterfaceAnswer
# At nice 19, so that what moves much beside it is not held up.
SIMULATION = SimulationTests|TimeLimitTests|VolumeTests|ConformanceTests|OverloadTests|ServeTests|SlowReaderRevocation|LinearizabilityTests

test: install
	swift build --build-tests --explicit-target-dependency-import-check error
	$(TEST) --skip '$(FLEETS)|$(SIMULATION)'
	$(TEST) --filter '$(FLEETS)'
	$(TEST) --filter '$(SIMULATION)'
	@$(MAKE) --no-print-directory test-javascript
	@$(MAKE) --no-print-directory test-hostile HOSTILE="--lean"
	@$(MAKE) --no-print-directory test-browser BROWSER="-m lean"

# enroute.js: its rules, and the library with the gateway that was built. Node 18 or newer; Debian has one.
test-javascript: build
	@command -v node >/dev/null || $(MAKE) --no-print-directory install PACKAGES="$(PACKAGES) nodejs"
	node --test Tests/JavaScript/*.test.mjs

build: install
	swift build

# Exclusivity is checked in debug and in tests; the dependencies are part of the hot path too (ARCHITECTURE.md).
# Swift's standard library is linked in: machines that run gateways have no toolchain.
RELEASE = -c release --product enroute -Xswiftc -enforce-exclusivity=unchecked --static-swift-stdlib

release: install
	swift build $(RELEASE)
	@if ldd .build/release/enroute | grep -E 'libswift|libFoundation|not found'; then \
	    echo "error: .build/release/enroute needs these libraries, which machines without Swift lack" >&2; exit 1; fi

# Benchmarks: see benchmarks/README.md. Run nothing beside them.
bench-tools: release twin
	cd benchmarks && swift build -c release

# The same gateway on NIOSSL's handler, to compare with: .build-twin/release/enroute.
twin: install
	ENROUTE_BUILD_TWIN=1 swift build $(RELEASE) --scratch-path .build-twin

# Minutes: this gateway and its twin on NIOSSL, five interleaved rounds; writes benchmarks/results/latest.json and .md.
bench: bench-tools
	cd benchmarks && .build/release/enroute-peers --enroute ../.build/release/enroute \
	    --twin ../.build-twin/release/enroute --only enroute,twin

# An hour or more: the peers as well (benchmarks/peers/install puts them here).
bench-peers: bench-tools
	benchmarks/peers/install
	cd benchmarks && .build/release/enroute-peers --enroute ../.build/release/enroute --twin ../.build-twin/release/enroute

# Asks apt only when something is missing. Debian starts a redis-server with the package; ours are our own.
install:
	@command -v swift >/dev/null || { echo "Swift is not installed: https://www.swift.org/install/linux/" >&2; exit 1; }
	@missing=$$(for package in $(PACKAGES); do \
	    dpkg-query -W -f '$${Status}' $$package 2>/dev/null | grep -q 'ok installed' || echo $$package; done); \
	if [ -n "$$missing" ]; then \
	    echo "installing: $$missing"; \
	    $(SUDO) apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq $$missing >/dev/null; \
	fi

# Sentinels and clusters fail over ten times each: a quarter of an hour.
test-failover: install
	swift build --build-tests
	ENROUTE_FAILOVERS=10 ENROUTE_REPORT=1 swift test --skip-build --disable-xctest --filter 'FailoverTests|GatewayTests.OutageTests'

# What Tracking decides of a reading, for 5,000 followed jobs that report once a second: fails above 2 us of CPU a reading.
bench-tracking: install
	swift build --build-tests
	ENROUTE_REPORT=1 swift test --skip-build --disable-xctest --filter TrackingTests.CostTests

# From a change of status to its follower, under a minute.
bench-status: release
	python3 benchmarks/status.py .build/release/enroute

# From a change of a rider to who watches the pool, under a minute.
bench-pool: release
	python3 benchmarks/pool.py .build/release/enroute

# Every history, every race: 100,000 histories of four clients against real Redis, 50 killed servers and 50 failovers in the
# middle of some, 100,000 races for one rider. Seven minutes or more. FIRST_SEED=1 repeats what `make test` begins with.
test-long: install
	swift build --build-tests
	ENROUTE_HISTORIES=100000 ENROUTE_RACES=100000 ENROUTE_FIRST_SEED=$(FIRST_SEED) \
	    swift test --skip-build --disable-xctest --filter LinearizabilityTests

# From a rider's PATCH to its answer and to who watches the pool, a minute.
bench-availability: release
	python3 benchmarks/availability.py .build/release/enroute

# 20,000 followed jobs lose their channels: minutes.
bench-recovery: release
	python3 benchmarks/recovery.py .build/release/enroute

# A zone of 5,000 riders: who is nearest, what a script takes, what a rider occupies. Seconds.
bench-riders: install
	python3 benchmarks/riders.py

# Each fuzzer for so many seconds; what it finds is in .build-fuzz/crashes, and belongs into Tests/Fuzzing/Corpus once it is put right.
FUZZ_SECONDS = 60
FUZZERS = FuzzFollowTable FuzzHTTPHead FuzzMessages FuzzOutbox FuzzReportQueue FuzzRESP FuzzWebSocket

fuzz: install
	@mkdir -p .build-fuzz/crashes
	@for fuzzer in $(FUZZERS); do \
	    ENROUTE_FUZZ=1 swift build -c release --scratch-path .build-fuzz --product $$fuzzer -Xswiftc -sanitize=fuzzer,address \
	        -Xswiftc -assert-config -Xswiftc Debug -Xswiftc -enable-testing -Xswiftc -use-ld=lld \
	        -Xcc -fsanitize=fuzzer-no-link || exit 1; \
	    mkdir -p .build-fuzz/corpus/$$fuzzer; \
	    ASAN_OPTIONS=detect_leaks=0 .build-fuzz/release/$$fuzzer -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -timeout=10 \
	        -artifact_prefix=.build-fuzz/crashes/$$fuzzer- .build-fuzz/corpus/$$fuzzer Tests/Fuzzing/Corpus/$$fuzzer || exit 1; \
	done

# What a location and a delivered message cost in instructions, and where they go: under a minute once all is built.
bench-instructions: instructions
	cd benchmarks && .build/release/enroute-instructions

# Fails when either costs 5 % more than benchmarks/instructions.json says, and when generic code of the hot path is not specialised.
check: instructions
	benchmarks/specialised.py .build/release
	cd benchmarks && .build/release/enroute-instructions --check

instructions: release
	@$(MAKE) --no-print-directory install PACKAGES="$(PACKAGES) valgrind curl openssl binutils"
	swift build -c release --package-path benchmarks --product enroute-instructions

# Whether the benchmarks still run, each for a second: no figures. The generator is built alone, in debug.
test-benchmarks: build
	@$(MAKE) --no-print-directory install PACKAGES="$(PACKAGES) nodejs node-ws node-redis python3 openssl"
	swift build --package-path benchmarks --product enroute-load
	python3 benchmarks/smoke.py .build/debug/enroute --load benchmarks/.build/debug/enroute-load

# More seeds of the simulator than `make test` runs, and others; some 2,500 a second and core. A seed that fails says what
# happened, and belongs into Tests/SimulationTests/SimulationTests.swift once it is put right.
SEEDS = 10000000
FIRST_SEED = $(shell date +%s)000

simulate: install
	swift build --build-tests
	ENROUTE_SEEDS=$(SEEDS) ENROUTE_FIRST_SEED=$(FIRST_SEED) \
	    swift test --skip-build --disable-xctest --filter SimulationTests

# Three minutes: Schemathesis (from PyPI, in .build-api) asks a gateway, with a redis-server of its own, by /openapi.json, as every
# role; and a client that openapi-python-client makes of the document is used.
SCHEMATHESIS = schemathesis==4.32.5
CLIENT_GENERATOR = openapi-python-client==0.29.1
# Words for `schemathesis run`, for example API="--max-examples 1000".
API =

test-api: build
	@$(MAKE) --no-print-directory install PACKAGES="$(PACKAGES) python3-venv curl"
	@test -x .build-api/venv/bin/schemathesis || { python3 -m venv .build-api/venv && \
	    .build-api/venv/bin/pip install --quiet '$(SCHEMATHESIS)'; }
	@test -x .build-api/client/bin/openapi-python-client || { python3 -m venv .build-api/client && \
	    .build-api/client/bin/pip install --quiet '$(CLIENT_GENERATOR)'; }
	Tests/Interface/run .build/debug/enroute .build-api $(API)

# The pages in Debian's Chromium, with Playwright and axe from PyPI (in .build-browser): all tests; `make test` runs the lean ones.
# Words for pytest, for example BROWSER="-m lean -k customer".
BROWSER =

test-browser: build
	@$(MAKE) --no-print-directory install PACKAGES="$(PACKAGES) chromium python3-venv redis-tools iproute2 openssl"
	Tests/Browser/run $(BROWSER)

# What no good client does, to real gateways: 200,000 messages, 200,000 requests, 50,000 raw connections and more, a quarter of an
# hour; `make test` runs it for seconds. Options of Tests/Hostile/run, for example HOSTILE="--only messages --seed 7".
HOSTILE =

test-hostile: build
	@$(MAKE) --no-print-directory install PACKAGES="$(PACKAGES) python3 python3-venv openssl redis-tools"
	Tests/Hostile/run $(HOSTILE)

format:
	swift format --in-place --recursive Sources Tests benchmarks/NIOSSLTwin benchmarks/Sources Package.swift

lint:
	swift format lint --strict --recursive Sources Tests benchmarks/NIOSSLTwin benchmarks/Sources Package.swift

clean:
	rm -rf .build .build-twin .build-fuzz .build-api .build-browser .build-hostile benchmarks/.build
