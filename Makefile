# Headway's tasks. `make help` lists them. All that is needed: Python 3.11, 3.12 or 3.13 (with venv), make and git.
# Each task sets up the environments it needs, once: they are made again only when their pinned requirements change.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

# The Python that the environments are made from: the first of these that fits, unless PYTHON names one.
FITS := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
ifndef PYTHON
PYTHON := $(shell for python in python3 python3.13 python3.12 python3.11; do \
	"$$python" -c '$(FITS)' 2>/dev/null && echo "$$python" && exit; done; echo python3)
endif

# dev or prod: the part of samconfig.toml that `make deploy` takes.
ENV ?= dev
# Where `make sim` finds the traces.
TRACES ?= ../shared/traces
# The Python whose bytecode `make build` ships, of the version that Lambda runs. Without one it ships sources only.
BYTECODE_PYTHON ?= python3.13
# What `make mutants` passes on, such as MUTANTS="--workers 1".
MUTANTS ?=
# The example that `make examples` runs; none: all.
EXAMPLE ?=
# What pip installs as PyTorch: a CPU build, which an index for it or a file has.
TORCH ?= torch==2.13.0+cpu
# What `make accept` passes on, such as ACCEPT="--instance-type ml.c5.xlarge".
ACCEPT ?=
# What `make test…` passes on to pytest, such as PYTEST="-k preempt -x".
PYTEST ?=
# How many processes run the quick tests, and how many, with a sandbox each, those on sandboxes, which often wait: three
# use three quarters of two cores. 0 runs them in one that a debugger can be attached to.
WORKERS ?= auto
E2E_WORKERS ?= 3
# After how many seconds an end-to-end test fails with the stacks of its threads: none takes half as long.
E2E_TIMEOUT_S ?= 900

VENV := .venv/bin
# The environments with the SageMaker Python SDKs that the client is tested with.
SDKS := sdk2-first sdk2 sdk3
PYTHON_VERSION := $(shell "$(PYTHON)" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
# Covalent needs Python 3.11 or older; with another one it is left out.
COVALENT := $(if $(filter 3.11,$(PYTHON_VERSION)),covalent)
# What `make test-python` runs: what most depends on the language and its library, in a minute.
ON_EACH_PYTHON := tests/client/cli/output tests/client/config tests/client/http tests/sandbox/journal tests/sandbox/sagemaker \
	tests/service/api tests/service/reuse tests/service/store
WITHOUT_SDKS := --ignore tests/client/sdk2 --ignore tests/client/sdk3 --ignore tests/client/covalent_executor
# Environments of examples that are skipped where their packages cannot be installed.
OPTIONAL := torch ray
RELEASE := tests/verification/upgrade/test_upgrade_e2e.py
WITH_SANDBOXES := tests/docs tests/service tests/e2e tests/examples tests/sandbox tests/verification tests/security
SAM := .envs/sam/bin
# For each source folder to see no more than it may. An inherited PYTHONPATH would let it see more.
CORE_PATH := layers/core/src
CLIENT_PATH := layers/core/src:client/src
export PYTHONPATH :=

# sam asks for a region even where it calls nothing, and reports home unless told not to.
export SAM_CLI_TELEMETRY := 0
WITH_REGION := AWS_DEFAULT_REGION=$${AWS_DEFAULT_REGION:-us-east-1}

##@ Start here

.PHONY: help
help: ## list these targets
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: .venv/.made .envs/sandbox/.made .envs/sam/.made ## run the main job in a sandbox: four jobs, two instances, one preemption
	$(VENV)/python -m headway_sandbox.demo.preemption

.PHONY: demo-guardrails
demo-guardrails: .venv/.made .envs/sandbox/.made .envs/sam/.made ## run the guardrails in a sandbox: about five minutes
	$(VENV)/python -m headway_sandbox.demo.guardrails

.PHONY: demo-capacity
demo-capacity: .venv/.made .envs/sandbox/.made .envs/sam/.made ## run warm pools, alternatives, preferences, sizes by time and training plans in a sandbox: about five minutes
	$(VENV)/python -m headway_sandbox.demo.capacity

.PHONY: demo-workflow
demo-workflow: .venv/.made .envs/sandbox/.made .envs/sam/.made ## run a workflow in a sandbox, and again with everything reused: about two minutes
	$(VENV)/python -m headway_sandbox.demo.workflow

.PHONY: demo-board
demo-board: .venv/.made .envs/sandbox/.made .envs/sam/.made ## open the board in a browser on a busy queue in a sandbox, until Ctrl-C
	$(VENV)/python -m headway_sandbox.demo.board

.PHONY: examples
examples: .venv/.made .envs/sandbox/.made .envs/sam/.made .envs/sdk3/.made .envs/examples/.made ## run the examples in a sandbox: about six minutes; EXAMPLE=sweep runs one
	-@$(MAKE) --no-print-directory --keep-going $(OPTIONAL:%=.envs/%/.made)
	$(VENV)/python -m examples $(EXAMPLE)

.PHONY: setup-sandbox
setup-sandbox: .venv/.made .envs/sandbox/.made .envs/sam/.made ## make what `headway` and its sandbox need: a third of all environments

.PHONY: setup
setup: .venv/.made .envs/core/.made .envs/sandbox/.made .envs/sam/.made .envs/examples/.made .envs/fuzz/.made .envs/template/.made .envs/docs/.made .envs/board/.made $(COVALENT:%=.envs/%/.made) $(SDKS:%=.envs/%/.made) ## make all environments: two gigabytes

##@ Test and check

.PHONY: test
test: test-core test-unit test-sdk-unit test-board test-e2e ## run all tests

.PHONY: test-core
test-core: .envs/core/.made ## test the core with no other package installed
	PYTHONPATH=$(CORE_PATH) .envs/core/bin/python -m pytest -n $(WORKERS) --dist worksteal tests/core $(PYTEST)

.PHONY: test-unit
test-unit: .venv/.made .envs/sandbox/.made .envs/template/.made .envs/examples/.made ## run all other quick tests: service, functions, client, template
	$(VENV)/python -m pytest -n $(WORKERS) --dist worksteal -m "not e2e" --ignore tests/core $(WITHOUT_SDKS) $(PYTEST)

.PHONY: test-python
test-python: .envs/python$(PYTHON_VERSION)/.made ## run a selection of the tests with PYTHON=/path/to/python, of another version
	.envs/python$(PYTHON_VERSION)/bin/python -m pytest -n $(WORKERS) --dist worksteal -m "not e2e" $(ON_EACH_PYTHON) $(PYTEST)

.PHONY: test-sdk-unit
test-sdk-unit: ## test the client with each SageMaker Python SDK (the first 2.x, the last, and 3.x), and with Covalent
	$(MAKE) --jobs 2 --output-sync $(SDKS:%=test-%-unit) $(COVALENT:%=test-%-unit)
.PHONY: $(patsubst %, test-%-unit, $(SDKS))
$(SDKS:%=test-%-unit): test-%-unit: .envs/%/.made
	PYTHONPATH=$(CLIENT_PATH):layers/service/src .envs/$*/bin/python -m pytest tests/client/$(firstword $(subst -, ,$*)) $(PYTEST)

.PHONY: $(patsubst %, test-%-unit, $(COVALENT))
$(COVALENT:%=test-%-unit): .envs/covalent/.made
	PYTHONPATH=$(CLIENT_PATH) .envs/covalent/bin/python -m pytest tests/client/covalent_executor $(PYTEST)

.PHONY: test-e2e
test-e2e: .venv/.made .envs/sandbox/.made .envs/sam/.made .envs/examples/.made .envs/fuzz/.made $(COVALENT:%=.envs/%/.made) $(SDKS:%=.envs/%/.made) ## test end to end, on sandboxes of its own, and prove the functions' policies
	$(VENV)/python -m pytest -n $(E2E_WORKERS) --dist loadfile --no-loadscope-reorder --timeout $(E2E_TIMEOUT_S) -m "e2e and not long" $(WITH_SANDBOXES) $(PYTEST)
	$(MAKE) iam-proof

.PHONY: test-sdk
test-sdk: .venv/.made .envs/sandbox/.made .envs/sam/.made $(SDKS:%=.envs/%/.made) ## only the end-to-end tests with scripts of boto3 and the SDKs
	$(VENV)/python -m pytest tests/e2e/client/test_sdk.py tests/e2e/client/test_client_scripts.py $(PYTEST)

.PHONY: test-covalent
test-covalent: .venv/.made .envs/sandbox/.made .envs/sam/.made $(COVALENT:%=.envs/%/.made) $(COVALENT:%=test-%-unit) ## only workflows of Covalent
	$(VENV)/python -m pytest tests/e2e/client/test_covalent.py $(PYTEST)

.PHONY: test-board
test-board: .venv/.made .envs/board/.made ## only the board: in the terminal, in tmux and in a Chromium if the machine has them
	$(VENV)/python -m pytest tests/client/board tests/client/cli/commands/jobs/test_board.py $(PYTEST)
	PYTHONPATH=$(CLIENT_PATH) .envs/board/bin/python -m pytest tests/client/board/terminal tests/client/board/browser $(PYTEST)

.PHONY: test-training
test-training: .venv/.made .envs/sandbox/.made .envs/sam/.made .envs/sdk3/.made .envs/training/.made .envs/examples/.made ## only scripts that run in sandboxes, in all isolations, and the examples
	-@$(MAKE) --no-print-directory --keep-going $(OPTIONAL:%=.envs/%/.made)
	$(VENV)/python -m pytest tests/sandbox/training tests/sandbox/rehearsal tests/e2e/sandbox/test_training.py tests/e2e/sandbox/test_idle_scripts.py tests/examples $(PYTEST)

.PHONY: test-release
test-release: .venv/.made .envs/sandbox/.made .envs/sam/.made ## only a short release: deploy, update under load, delete
	$(VENV)/python -m pytest -m e2e $(RELEASE) $(PYTEST)

.PHONY: test-security
test-security: .venv/.made .envs/sandbox/.made .envs/sam/.made .envs/fuzz/.made ## only permissions, limits and secrets; then prove the functions' policies
	$(VENV)/python -m pytest -m e2e tests/security $(PYTEST)
	$(MAKE) iam-proof

.PHONY: fuzz
fuzz: .venv/.made .envs/sandbox/.made .envs/sam/.made .envs/fuzz/.made ## feed each decoder with hostile input, and call the API on a sandbox with all that its document allows and forbids, for SECONDS in all; SEED draws both
	@seed=$(or $(SEED),$$RANDOM$$RANDOM); half=$$(( $(or $(SECONDS),300) / 2 )); failed=0; \
	$(VENV)/python -m headway_verification.decoders --seconds $$half --seed $$seed || failed=1; \
	$(VENV)/python -m tests.security.fuzzing --seconds $$half --seed $$seed || failed=1; \
	echo "Again: make fuzz SECONDS=$(or $(SECONDS),300) SEED=$$seed"; exit $$failed

.PHONY: iam-proof
iam-proof: .venv/.made .envs/sandbox/.made ## compare the functions' policies with the AWS calls recorded in build/calls
	$(VENV)/python -m headway_verification.least_privilege

.PHONY: sim
sim: .venv/.made ## replay real traces through the scheduler and check the figures; TRACES=folder of the traces
	$(VENV)/python -m headway_sandbox.simulator.checks --traces "$(TRACES)" --out build/sim

.PHONY: predictions
predictions: .venv/.made ## predict the run times of real traces by their past; TRACES=folder of the traces
	$(VENV)/python -m headway_sandbox.simulator.predictions --traces "$(TRACES)"

.PHONY: lost-work
lost-work: .venv/.made ## compare the work that preemptions lose on real traces; TRACES=folder of the traces
	$(VENV)/python -m headway_sandbox.simulator.lost_work --traces "$(TRACES)"

.PHONY: gaps
gaps: .venv/.made ## compare real traces with gaps before reserved starts filled and not; TRACES=folder of the traces, ONLY=muri-trace1
	$(VENV)/python -m headway_sandbox.simulator.gaps --traces "$(TRACES)" $(if $(ONLY),--only $(ONLY))

.PHONY: soak
soak: .venv/.made ## simulate SEEDS random runs of a queue with faults everywhere, in the ORDER among equals, with PREDICTIONS=1 by these
	$(VENV)/python -m headway_verification.soak --seeds $(or $(SEEDS),200) $(if $(ORDER),--order $(ORDER)) $(if $(PREDICTIONS),--predictions)

.PHONY: snapshots
snapshots: .venv/.made ## simulate COUNT random snapshots until nothing changes; SEED draws them
	PYTHONPATH=$(CORE_PATH):. $(VENV)/python -m tests.core.random_snapshots --count $(or $(COUNT),200000) --seed $(or $(SEED),1)

.PHONY: reclaims
reclaims: .venv/.made ## reclaim guarantees in COUNT random snapshots, and look for fairer victims; SEED draws them
	PYTHONPATH=$(CORE_PATH):. $(VENV)/python -m tests.core.random_reclaims --count $(or $(COUNT),100000) --seed $(or $(SEED),1)

.PHONY: truths
truths: .venv/.made ## follow what decisions say in COUNT random snapshots; SEED draws them
	PYTHONPATH=$(CORE_PATH):. $(VENV)/python -m tests.core.truths --count $(or $(COUNT),200000) --seed $(or $(SEED),1)

.PHONY: trials
trials: .venv/.made ## crash before and after each call of each function, and interleave other functions
	$(VENV)/python -m headway_verification.soak --trials

.PHONY: safeguards
safeguards: .venv/.made ## remove one safeguard at a time, and report the trial or run (of SEEDS) that fails; ONLY=text selects some
	$(VENV)/python -m headway_verification.soak --safeguards --seeds $(or $(SEEDS),300) $(if $(ONLY),--only "$(ONLY)")

.PHONY: chaos
chaos: .venv/.made .envs/sandbox/.made .envs/sam/.made ## kill, repeat, lose and restart while JOBS jobs run in a sandbox; SEED draws the faults
	$(VENV)/python -m headway_verification.chaos --jobs $(or $(JOBS),200) $(if $(SEED),--seed $(SEED))

.PHONY: refusals
refusals: .venv/.made ## play each state in which AWS goes on saying no, and show what it costs; ONLY=key selects some
	$(VENV)/python -m headway_verification.refusals $(if $(ONLY),--only "$(ONLY)")

.PHONY: forecasts
forecasts: .venv/.made ## ask random queues with arrays for COUNT forecasts, and fail if a job starts later than told; SEED draws the first queue
	$(VENV)/python -m headway_verification.forecasts --count $(or $(COUNT),1000) --seed $(or $(SEED),1)

.PHONY: crowds
crowds: .venv/.made ## make many of each thing that users may create, and show whether each tick decides, and its time; ONLY=key selects some
	$(VENV)/python -m headway_verification.crowds $(if $(ONLY),--only "$(ONLY)")

.PHONY: fleets
fleets: .venv/.made ## let 300 to 5,000 JOBS run, with slow calls of SageMaker, and show what each run of the reconciler does, for MINUTES
	$(VENV)/python -m headway_verification.fleets $(if $(JOBS),--jobs $(JOBS)) $(if $(MINUTES),--minutes $(MINUTES))

.PHONY: test-operations
test-operations: .venv/.made ## play the states in which each alarm has to ring, and healthy ones; ONLY=text selects some
	$(VENV)/python -m headway_verification.operations $(if $(ONLY),--only "$(ONLY)")

.PHONY: mutants
mutants: .envs/mutants/.made ## mutate the code that keeps the promises, and report mutants that no test kills; MODULE=tick, MUTANTS=--report
	.envs/mutants/bin/python -m tests.mutants.run $(MODULE) $(MUTANTS)

.PHONY: check
check: check-code check-template ## lint, import rules, formatting, types, and the template

.PHONY: check-code
check-code: .venv/.made ## lint, import rules, formatting and types
	$(VENV)/ruff check .
	$(VENV)/lint-imports --no-cache
	$(VENV)/ruff format --check .
	$(VENV)/mypy

.PHONY: check-template
check-template: .envs/sam/.made .envs/sandbox/.made .envs/template/.made ## sam validate --lint, cfn-lint, checkov and cfn-guard
	$(WITH_REGION) $(SAM)/sam validate --lint
	$(SAM)/cfn-lint template.yaml deploy/key.yaml deploy/network.yaml
	.envs/template/bin/checkov --config-file deploy/checkov.yaml
	$(WITH_REGION) PYTHONPATH=sandbox/src .envs/sandbox/bin/python -m tests.template.guarded | .envs/template/bin/python -m tests.template.guard

.PHONY: format
format: .venv/.made ## format the code and fix what lint can fix
	$(VENV)/ruff check --fix --exit-zero --quiet .
	$(VENV)/ruff format .

##@ Measure

# What the scripts take, such as BENCH="--quick" or BENCH="--profile".
BENCH ?=

.PHONY: bench
bench: .venv/.made .envs/sandbox/.made .envs/sam/.made build ## measure all of it, and write docs/explanation/performance.md; BENCH=--quick, BENCH="--only kueue"
	$(VENV)/python -m bench.suite $(BENCH)

.PHONY: bench-page
bench-page: .venv/.made ## rewrite docs/explanation/performance.md from bench/results, without measuring
	$(VENV)/python -m bench.report.page

.PHONY: bench-scale
bench-scale: .venv/.made .envs/sandbox/.made .envs/sam/.made ## measure long queues and bursts in a sandbox; BENCH=--quick
	$(VENV)/python -m bench.scenarios.scale $(BENCH)

.PHONY: bench-launches
bench-launches: .venv/.made ## measure launches a second, and how soon 500 ends in a minute are followed; BENCH=--quick
	$(VENV)/python -m bench.scenarios.launches $(BENCH)

.PHONY: bench-kueue
bench-kueue: .venv/.made ## replay Kueue's own performance test in real time; BENCH=--quick for a tenth
	$(VENV)/python -m bench.scenarios.kueue $(BENCH)

.PHONY: bench-schedule
bench-schedule: .venv/.made ## time the decision alone with up to 100,000 waiting jobs; BENCH=--quick
	$(VENV)/python -m bench.scenarios.decision $(BENCH)

.PHONY: bench-fair-shares
bench-fair-shares: .venv/.made ## simulate who gets how much after a week in which one team was alone, beside Slurm's formula; BENCH="--half-life-days 14"
	$(VENV)/python -m bench.scenarios.fair_shares $(BENCH)

.PHONY: bench-budgets
bench-budgets: .venv/.made ## simulate a month of msr-itp with budgets of 80 % of each team's use, and check the bound; TRACES=folder of the traces, BENCH="--rows 3000" for its first jobs
	$(VENV)/python -m bench.scenarios.budgets --traces "$(TRACES)" $(BENCH)

.PHONY: bench-help
bench-help: .venv/.made ## time headway --help against an empty interpreter; BENCH="--runs 50"
	$(VENV)/python -m bench.scenarios.cli_help $(BENCH)

.PHONY: bench-cost
bench-cost: .venv/.made ## count and price the use of an idle queue and of 1,000 jobs; writes docs/explanation/cost.md; BENCH=--print writes nothing
	$(VENV)/python -m bench.scenarios.cost $(BENCH)

.PHONY: bench-article
bench-article: .venv/.made ## count the use of a pass and of a job against the founding article's scheduler; BENCH=--quick
	$(VENV)/python -m bench.scenarios.article $(BENCH)

.PHONY: bench-board
bench-board: .venv/.made ## time a summary and a board's refresh with 10,000 waiting and 500 running jobs; BENCH=--quick
	$(VENV)/python -m bench.scenarios.board $(BENCH)

.PHONY: bench-training
bench-training: .venv/.made .envs/sandbox/.made ## measure what the sandbox adds to a script, and the work that a preemption loses; BENCH=--quick
	$(VENV)/python -m bench.scenarios.training $(BENCH)

.PHONY: bench-reaction
bench-reaction: .venv/.made build ## time warm handlers and cold starts, and measure the layers' size; BENCH=--quick
	$(VENV)/python -m bench.scenarios.reaction $(BENCH)

.PHONY: bench-slurm
bench-slurm: .venv/.made .envs/sandbox/.made .envs/sam/.made ## measure against Slurm, as root, which it installs if missing; BENCH=--quick
	$(VENV)/python -m bench.scenarios.slurm $(BENCH)

##@ Build and deploy

.PHONY: build
build: .envs/sam/.made ## build the deployment for Lambda on arm64
	HEADWAY_LAYER_PYTHON="$(abspath $(SAM))/python" $(WITH_REGION) $(SAM)/sam build
	@$(SAM)/python -m deploy.contents .aws-sam/build
	@$(SAM)/python -m deploy.bytecode .aws-sam/build "$(BYTECODE_PYTHON)"
	@$(SAM)/python -m deploy.archives .aws-sam/build

.PHONY: reproducible
reproducible: build ## build a second time, elsewhere, and compare the archives' bytes
	$(SAM)/python -m deploy.reproducible

.PHONY: sbom
sbom: build .venv/.made .envs/audit/.made ## write build/sbom/*.json: the deployment and the client's dependencies
	$(VENV)/python -m deploy.sbom build/sbom
	.envs/audit/bin/python -m deploy.valid_sbom build/sbom/*.json

.PHONY: audit
audit: .envs/audit/.made ## check PINS against a database of vulnerabilities; exit 1 if it has one, 3 if it was not reached
	.envs/audit/bin/python -m deploy.audit $(or $(PINS),layers/dependencies/requirements.txt)

.PHONY: deploy
deploy: build ## deploy to AWS; ENV=dev or prod, GUIDED=1 asks for the account's own parameters, CHECKS=no skips the checks, CONFIRM=no asks nothing
	@if [[ -n "$(GUIDED)" && ! -e samconfig.local.toml ]]; then cp samconfig.toml samconfig.local.toml; fi
	@config=samconfig.toml; if [[ -e samconfig.local.toml ]]; then config=samconfig.local.toml; fi; \
		how=(--config-file "$(CURDIR)/$$config" --config-env $(ENV) $(if $(filter no,$(CONFIRM)),--no-confirm-changeset)); \
		with_client=(env PYTHONPATH=$(CLIENT_PATH) $(SAM)/python); \
		check=($(if $(filter no,$(CHECKS)),true,"$${with_client[@]}" -m deploy.preflight "$$config" $(ENV))); \
		$(if $(GUIDED),$(SAM)/sam deploy "$${how[@]}" --no-execute-changeset --guided;) \
		"$${check[@]}"; \
		$(SAM)/sam deploy "$${how[@]}"; \
		"$${with_client[@]}" -m deploy.stack_policy "$$config" $(ENV); \
		$(if $(filter no,$(CHECKS)),true,"$${with_client[@]}" -m deploy.postflight "$$config" $(ENV))

.PHONY: accept
accept: .venv/.made .envs/sandbox/.made .envs/sam/.made ## prove on a deployment what is assumed of AWS, with YES=1 for some cents, or on a sandbox; BUCKET=, IMAGE=, ENDPOINT=, STACK=, ACCEPT="--minutes 60"
	$(VENV)/python -m headway_verification.acceptance $(if $(ENDPOINT),--endpoint "$(ENDPOINT)") $(if $(STACK),--stack "$(STACK)") \
		$(if $(BUCKET),--bucket "$(BUCKET)") $(if $(IMAGE),--image "$(IMAGE)") $(if $(YES),--yes) $(ACCEPT)

.PHONY: deploy-sandbox
deploy-sandbox: .venv/.made .envs/sandbox/.made .envs/sam/.made ## run a release on this machine: deploy, update under load, roll back, delete; OLD=a commit to update from
	$(VENV)/python -m headway_verification.upgrade $(if $(OLD),--old $(OLD))

##@ Keep

.PHONY: lock
lock: .envs/uv/.made ## pin the packages of the .in files again; UPGRADE=1 takes the newest versions
	$(call compile,layers/dependencies/requirements)
	$(call compile,requirements/uv)
	$(call compile,requirements/dev)
	$(call compile,requirements/core)
	$(call compile,requirements/sandbox)
	$(call compile,requirements/sam)
	$(call compile,requirements/fuzz)
	$(call compile,requirements/template)
	$(call compile,requirements/audit)
	$(call compile,requirements/docs)
	$(call compile,requirements/mutants)
	$(call compile,requirements/sdk2-first)
	$(call compile,requirements/sdk2)
	$(call compile,requirements/sdk3)
	$(call compile,requirements/training)
	$(call compile,requirements/board)
	$(call compile,requirements/covalent)
	$(call compile,requirements/examples)
	$(call compile,requirements/torch)
	$(call compile,requirements/ray)

.PHONY: docs
docs: .venv/.made .envs/docs/.made .envs/sandbox/.made .envs/template/.made ## build the docs as a site in build/docs; fails on a broken link, anchor or example
	$(VENV)/python -m pytest -q -m "not e2e" tests/docs $(PYTEST)
	rm -rf build/docs
	.envs/docs/bin/python -m sphinx -b html -c docs/site -W --keep-going -q . build/docs -d build/doctrees
	$(VENV)/python -m docs.site.selfcontained build/docs

.PHONY: instance-specs
instance-specs: .venv/.made ## write the table of instance types that advice rests on
	$(VENV)/python -m deploy.instance_specs

.PHONY: docs-pictures
docs-pictures: .venv/.made ## draw the packages from the import graph
	$(VENV)/python -m docs.site.packages

.PHONY: docs-terminal
docs-terminal: .venv/.made .envs/sandbox/.made .envs/sam/.made ## draw the README's terminal from a run of the demo
	$(VENV)/python -m docs.site.terminal

.PHONY: openapi
openapi: .venv/.made ## write docs/openapi.json from the API's handlers
	$(VENV)/python -m headway_service.api.openapi docs/openapi.json

.PHONY: clean
clean: ## remove what builds and tests have written
	rm -rf .aws-sam .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
	find functions layers client docs sandbox tests -name __pycache__ -prune -exec rm -rf {} +

.PHONY: clean-all
clean-all: clean ## remove the environments too
	rm -rf .venv .envs

# ---------------------------------------------------------------------------------------------------- environments
# A stamp is written last, so a setup that broke off starts again; --clear leaves nothing of an older one.

# One set of pins for all platforms and for Python 3.11 to 3.13, with hashes and without the address of any index.
compile = $(UV) compile --quiet --universal --python-version 3.11 --generate-hashes --no-config \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
	$(if $(UPGRADE),--upgrade) $(1).in --output-file $(1).txt

UV := .envs/uv/bin/uv pip

define begin_env
	@"$(PYTHON)" -c '$(FITS)' || { \
		echo "Headway needs Python 3.11, 3.12 or 3.13, which $(PYTHON) is not: make $(MAKECMDGOALS) PYTHON=/path/to/python" >&2; \
		exit 1; }
	@echo "setting up $(@D) from $<"
	@"$(PYTHON)" -m venv --clear $(@D)
endef
# uv takes a tenth of pip's time. pip comes after it for machines on which only pip has been told where packages are.
# --no-deps: the pins are complete (`uv pip check` confirms it), and pip's resolver trips over hashed pins of packages
# that others ask for with extras. Only the sandbox's are compiled at once, as it writes no bytecode when it starts: of
# the others little is ever imported, and to compile all of the SDKs takes minutes.
PINNED = --quiet --no-deps --require-hashes --only-binary :all: --requirement $<
PIP = $(@D)/bin/python -m pip install --disable-pip-version-check --no-input
define make_env
	$(begin_env)
	@$(UV) install --python $(@D) $(if $(findstring sandbox,$@),--compile-bytecode) $(PINNED) || { echo "uv cannot install that; pip tries it" >&2; $(PIP) $(PINNED); }
	@problems="$$($(UV) check --quiet --python $(@D) 2>&1)" || { echo "$$problems" >&2; exit 1; }
endef

.envs/uv/.made: requirements/uv.txt
	$(begin_env)
	@$(PIP) $(PINNED)
	@touch $@

define make_dev_env
	$(make_env)
	@$(UV) install --python $(@D) --quiet --no-deps --no-build-isolation --editable .
	@touch $@
endef

.venv/.made: requirements/dev.txt pyproject.toml | .envs/uv/.made
	$(make_dev_env)

.envs/python%/.made: requirements/dev.txt pyproject.toml | .envs/uv/.made
	$(make_dev_env)

# The toolkit and one of its packages are published as sources only.
.envs/training/.made: PINNED += --no-binary sagemaker-training --no-binary inotify-simple
# So is Covalent.
.envs/covalent/.made: PINNED += --no-binary covalent

.envs/torch/.made: requirements/torch.txt | .envs/uv/.made
	$(make_env)
	@$(PIP) --quiet --no-deps --only-binary :all: "$(TORCH)" || { \
		echo "pip finds no CPU build of PyTorch: set PIP_EXTRA_INDEX_URL to PyTorch's index of them, or TORCH to a wheel" >&2; \
		exit 1; }
	@touch $@

.envs/%/.made: requirements/%.txt | .envs/uv/.made
	$(make_env)
	@touch $@
