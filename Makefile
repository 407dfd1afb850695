# The front door: `make digits` trains a model, `make test` runs every test.
# Both install what is missing first, and say what.

BUILD   := build
RELEASE := $(BUILD)/release
BIN     := $(RELEASE)/bin
VENV    := $(BUILD)/venv
PYTHON  := $(VENV)/bin/python

PACKAGES := cmake ninja-build g++ llvm-22-dev libmlir-22-dev mlir-22-tools llvm-22-tools clang-22 lld-22 liblld-22-dev \
  libclang-rt-22-dev libzstd-dev zlib1g-dev flatbuffers-compiler libflatbuffers-dev libfmt-dev nlohmann-json3-dev \
  libssl-dev openssl libmimalloc-dev chromium libzip-dev libcli11-dev libgtest-dev libgmock-dev libbenchmark-dev libopenmpi-dev openmpi-bin python3-venv
# nvidia-cuda-runtime has cuda.h, with which the device `cuda` is built, and nvidia-cuda-nvcc ptxas, with which tests try its kernels.
PYTHON_PACKAGES := jax==0.10.2 numpy safetensors scikit-learn pytest pytest-timeout pytest-xdist nvidia-cuda-runtime nvidia-cuda-nvcc nvidia-nccl-cu13

SUDO := $(if $(filter 0,$(shell id -u)),,sudo)
CCACHE := $(if $(shell command -v ccache),-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
CPUS := $(shell nproc)

.PHONY: all setup packages configure build tools digits temporary test test-gcc test-asan test-tsan clean

all: build

## Set-up

setup: packages $(VENV)/ready

packages:
	@missing=""; for p in $(PACKAGES); do \
	  dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
	if [ -n "$$missing" ]; then \
	  echo "installing Debian packages:$$missing"; \
	  $(SUDO) apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq --no-install-recommends $$missing; fi

$(VENV)/ready: Makefile
	@echo "installing Python packages into $(VENV): $(PYTHON_PACKAGES)"
	@mkdir -p $(BUILD) && python3 -m venv $(VENV)
	@$(PYTHON) -m pip install -q --disable-pip-version-check $(PYTHON_PACKAGES)
	@echo "$(CURDIR)/python-bindings" > "$$($(PYTHON) -c 'import site; print(site.getsitepackages()[0])')/lockstep.pth"
	@touch $@

## Building

configure: setup
	@cmake --preset release -DLOCKSTEP_CUDA=ON -DLOCKSTEP_MPI=ON -DLOCKSTEP_PYTHON="$(CURDIR)/$(PYTHON)" $(CCACHE) > $(BUILD)/configure.log 2>&1 || { cat $(BUILD)/configure.log; exit 1; }

build: configure
	@cmake --build $(RELEASE) --parallel $(CPUS)

# What compiles a step and runs it, without the other tools and the tests.
tools: configure
	@cmake --build $(RELEASE) --parallel $(CPUS) --target lockstep-compile lockstep-run

## The example: four replicas train a classifier of handwritten digits

DIGITS := $(BUILD)/digits

digits: tools
	@mkdir -p $(DIGITS)
	$(PYTHON) examples/digits-mlp/data.py -o $(DIGITS)
	$(PYTHON) -m lockstep.capture examples/digits-mlp/model.py -o $(DIGITS)
	$(BIN)/lockstep-compile $(DIGITS)/step.mlir --replicas=4 -o $(DIGITS)/digits.lockstep
	$(BIN)/lockstep-run $(DIGITS)/digits.lockstep --init $(DIGITS)/init.safetensors --data $(DIGITS)/train.npz \
	  --eval-data $(DIGITS)/test.npz --epochs=30 --seed=0 --metrics=$(DIGITS)/metrics.jsonl

## Tests: the runtime by gcc and under sanitizers, then everything by ctest, then Python's. A test that hangs ends as a failure that is named.

# Tests on the stand-in for a GPU compile each kernel once.
export LOCKSTEP_CUDA_CACHE := $(CURDIR)/$(BUILD)/cuda-cache

# Of tests with many cases, those of the day are executed; `make test LOCKSTEP_DAILY=` executes all.
export LOCKSTEP_DAILY ?= 1
# The part of the runtime's tests on other devices and transports that is left to the next day (test/runtime/CMakeLists.txt).
OTHER_PART := $(shell echo $$(( ($$(git log -1 --format=%ct 2>/dev/null || echo 0) / 86400 + 1) % 2 )))
TODAY := $(if $(filter 1,$(LOCKSTEP_DAILY)),--exclude-regex '^(loopback|simulated|cuda)/runtime.*/$(OTHER_PART)$$')

# Tests get an empty folder for temporary files, and have to leave it empty; pytest leaves an empty folder in it.
TEMPORARY := $(CURDIR)/$(BUILD)/temporary
# ThreadSanitizer waits for a second before a process with threads ends, to find races of its end; a fiftieth is enough for what still runs then.
CTEST  := TMPDIR="$(TEMPORARY)" TSAN_OPTIONS=atexit_sleep_ms=20 ctest --output-on-failure --parallel $(CPUS) --timeout 600 $(TODAY)
# The output of failed tests once more, after hundreds of lines about those that passed: logs are read, and often kept, from their end.
SHOW_FAILED := awk '/ Testing: /{test=""} {test=test $$0 "\n"} /^Test Failed/{print test}'
CTEST_IN = $(CTEST) --test-dir $(1) || { $(SHOW_FAILED) $(1)/Testing/Temporary/LastTest.log; exit 1; }
PYTEST := TMPDIR="$(TEMPORARY)" LOCKSTEP_BIN="$(CURDIR)/$(BIN)" LOCKSTEP_SANITIZED_BIN="$(CURDIR)/$(BUILD)/asan/bin" $(PYTHON) -m pytest --timeout=900
CHECK_TEMPORARY = @left=$$(find "$(TEMPORARY)" -mindepth 1 -not -name 'pytest-of-*'); \
  [ -z "$$left" ] || { echo "expected that tests leave no temporary files, found:"; echo "$$left"; exit 1; }
# The tests of one file share what they have prepared.
SIDE_BY_SIDE := --numprocesses=$(CPUS) --dist=loadfile --no-loadscope-reorder
# What is executed once more with generated code that checks each access: not what compiles for minutes or for GPUs, checks or compares by itself, or is about other
# things than what kernels compute.
UNCHECKED := bounds compile_errors cuda cuda_attention cuda_code cuda_convolutions cuda_epilogues cuda_graphs cuda_nccl cuda_products cuda_rows cuda_trace devices documentation \
  executors failures inspect_page kernel_order launches models mutants numerics operations processes random_functions refused_functions restarts run_errors same_bits \
  security server_forms workers

test: temporary build test-gcc test-asan test-tsan
	$(call CTEST_IN,$(RELEASE))
	$(PYTEST) $(SIDE_BY_SIDE) test/python test/conformance
	$(PYTEST) test/passes/random_ir
	$(PYTEST) $(SIDE_BY_SIDE) test/end-to-end
	LOCKSTEP_CHECK_MEMORY=1 $(PYTEST) $(SIDE_BY_SIDE) test/end-to-end $(UNCHECKED:%=--ignore=test/end-to-end/test_%.py) --ignore=test/end-to-end/differential -k "not language"
	$(CHECK_TEMPORARY)

test-gcc: setup
	cmake --preset gcc -DLOCKSTEP_PYTHON="$(CURDIR)/$(PYTHON)" $(CCACHE) > $(BUILD)/configure-gcc.log 2>&1 || { cat $(BUILD)/configure-gcc.log; exit 1; }
	cmake --build $(BUILD)/gcc --parallel $(CPUS)

temporary:
	@rm -rf "$(TEMPORARY)" && mkdir -p "$(TEMPORARY)"

# Their tests use the stand-in for CUDA's driver that `build` has made, if it has been made.
STANDIN = $(if $(wildcard $(RELEASE)/lib/cuda-standin/libnccl.so.2),-DLOCKSTEP_CUDA_STANDIN="$(CURDIR)/$(RELEASE)/lib/cuda-standin")

test-asan test-tsan: test-%: setup temporary
	cmake --preset $* -DLOCKSTEP_CUDA=ON $(STANDIN) -DLOCKSTEP_PYTHON="$(CURDIR)/$(PYTHON)" $(CCACHE) > $(BUILD)/configure-$*.log 2>&1 || { cat $(BUILD)/configure-$*.log; exit 1; }
	cmake --build $(BUILD)/$* --parallel $(CPUS)
	$(call CTEST_IN,$(BUILD)/$*)
	$(CHECK_TEMPORARY)

clean:
	rm -rf $(BUILD)
