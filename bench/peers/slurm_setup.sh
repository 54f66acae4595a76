#!/usr/bin/env bash
# Slurm on this machine, on loopback only: one controller, NODES nodes with 8 virtual GPUs each.
#   slurm_setup.sh start NODES | stop
# Everything lies in $SLURM_BENCH_DIR. KILL_WAIT is how long a job may take to stop, s; SCHEDULER_PARAMETERS is Slurm's
# SchedulerParameters, empty for its defaults. Root on Debian or Ubuntu; what is missing is installed.
set -euo pipefail

: "${SLURM_BENCH_DIR:?says where everything lies}"
dir=$SLURM_BENCH_DIR
packages=(slurmctld slurmd slurm-client munge)
export SLURM_CONF=$dir/slurm.conf

install_missing() {
    local missing=()
    for command in slurmctld slurmd sbatch munged; do
        command -v "$command" >/dev/null || missing+=("$command")
    done
    ((${#missing[@]})) || return 0
    if ((EUID)) || ! command -v apt-get >/dev/null; then
        echo "${missing[*]} missing: install ${packages[*]}, as root on Debian or Ubuntu:" >&2
        echo "apt-get install --no-install-recommends ${packages[*]}" >&2
        exit 3
    fi
    apt-get update -qq >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${packages[@]}" >&2
}

configure() {
    local nodes=$1 gpus=8 host
    host=$(hostname -s)
    mkdir -p "$dir"/{state,spool,log,run,dev}
    chmod 755 "$dir"
    chmod 711 "$dir/run"
    for gpu in $(seq 0 $((gpus - 1))); do touch "$dir/dev/g$gpu"; done
    cat >"$dir/gres.conf" <<CONF
AutoDetect=off
Name=gpu File=$dir/dev/g[0-$((gpus - 1))]
CONF
    # No accounting, no prolog, no cgroups: nothing but the scheduler and the start of a process is measured.
    cat >"$SLURM_CONF" <<CONF
ClusterName=bench
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/run/munge.socket
CredType=cred/munge
SlurmctldPort=16817
SlurmctldPidFile=$dir/run/slurmctld.pid
SlurmdPidFile=$dir/run/slurmd.%n.pid
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd.%n.log
SlurmctldDebug=error
SlurmdDebug=error
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SlurmctldTimeout=300
SlurmdTimeout=0
KillWait=${KILL_WAIT:-2}
MinJobAge=2
MaxJobCount=100000
MaxArraySize=20001
GresTypes=gpu
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
${SCHEDULER_PARAMETERS:+SchedulerParameters=$SCHEDULER_PARAMETERS}
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PriorityType=priority/basic
NodeName=n[1-$nodes] NodeHostname=$host NodeAddr=127.0.0.1 Port=[17001-$((17000 + nodes))] CPUs=64 RealMemory=500000 Gres=gpu:$gpus State=UNKNOWN
PartitionName=low Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=REQUEUE
PartitionName=high Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
CONF
}

start() {
    local nodes=$1 seen=""
    install_missing
    configure "$nodes"
    (umask 077 && head -c 1024 /dev/urandom >"$dir/munge.key")
    munged --force --key-file="$dir/munge.key" --socket="$dir/run/munge.socket" --pid-file="$dir/run/munged.pid" \
        --log-file="$dir/log/munged.log" --seed-file="$dir/run/munged.seed"
    slurmctld -f "$SLURM_CONF" -c
    for number in $(seq 1 "$nodes"); do
        mkdir -p "$dir/spool/n$number"
        slurmd -f "$SLURM_CONF" -N "n$number"
    done
    for _ in $(seq 60); do
        seen=$(sinfo --noheader --format=%D/%T | tr '\n' ' ' || true)
        [[ $seen == "$nodes/idle " ]] && return
        sleep 1
    done
    echo "the nodes did not become idle: $seen" >&2
    exit 1
}

stop() {
    # Jobs outlive the daemons of their nodes, so they go first.
    timeout 30 scancel --user="$(id -un)" 2>/dev/null || true
    for _ in $(seq 60); do
        [[ -n $(timeout 5 squeue --noheader 2>/dev/null) ]] || break
        sleep 0.5
    done
    # Each by its own pid file: other Slurms of this machine are left alone.
    local pids=()
    for file in "$dir"/run/slurmd.*.pid "$dir/run/slurmctld.pid" "$dir/run/munged.pid"; do
        [[ ! -f $file ]] || pids+=("$(<"$file")")
    done
    ((${#pids[@]})) || return 0
    kill "${pids[@]}" 2>/dev/null || true
    for _ in $(seq 100); do
        kill -0 "${pids[@]}" 2>/dev/null || break
        sleep 0.1
    done
}

case ${1:-} in
start) start "${2:?how many nodes}" ;;
stop) stop ;;
*)
    sed -n '2,6s/^# //p' "$0" >&2
    exit 2
    ;;
esac
