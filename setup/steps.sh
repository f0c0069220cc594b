# How set-up takes its steps: one set-up at a time, output in a log, and no process that outlives it.
# shellcheck shell=bash disable=SC2034,SC2154  # the variables of places.sh, and `failed` for who calls

# Takes the lock and makes the log and a scratch folder, all in the cache.
begin_steps() {
    running=() stop_with='' at_once='' step_started=$SECONDS
    if [[ -n $untrusted ]]; then fail "$untrusted"; fi
    # What is made here nobody else may write to, whatever the user lets others do to what they make.
    umask_before=$(umask)
    umask go-w
    # Until the lock is ours, so are neither the log nor the scratch folder.
    log=/dev/null scratch=
    exec {to_log}>/dev/null
    written mkdir -p -- "$cache"
    written touch -- "$cache/setup.lock"
    exec {lock}<>"$cache/setup.lock"
    trap 'interrupted 130' INT
    trap 'interrupted 143' TERM
    trap 'interrupted 129' HUP
    if ! flock --nonblock "$lock"; then
        say "another tlstax is setting up; waiting for it to finish"
        unseen flock "$lock" || fail "the other set-up did not finish within an hour"
    fi
    log=$cache/setup.log scratch=$cache/setup-scratch
    remove_scratch
    written mkdir -p -- "$scratch"
    written truncate --size 0 -- "$log"
    # Opened once, so that a disk that is full later can still be reported in it.
    exec {to_log}>&- {to_log}>>"$log"
}

end_steps() {
    remove_scratch
    rm -f -- "$log"
    trap - INT TERM HUP
    exec {lock}>&- {to_log}>&-
    umask "$umask_before"
}

remove_scratch() { if [[ -n $scratch ]]; then rm -rf -- "$scratch"; fi; }

# Carries out a write of set-up's own, or ends with the reason why it failed.
written() {
    local reason
    reason=$("$@" 2>&1) && return
    if disk_is_full || [[ $reason == *'No space left on device'* ]]; then
        fail "the disk that holds $cache is full: $room_needed"
    fi
    fail "cannot write to $cache, where tlstax keeps what it sets up:" \
        "set TLSTAX_CACHE to a folder that you may write to"
}

# Says what is done, does it (a function of this shell), says how long it took. Returns its status.
step() {
    local what=$1 status=0
    shift
    step_started=$SECONDS
    say "$what…"
    "$@" || status=$?
    if ((status == 0)); then say "  done in $((SECONDS - step_started)) s"; fi
    return "$status"
}

# Runs a command with its output in the log. `timeout` gives it a process group of its own and passes
# a signal on to all of it; `setpriv` sends that signal when this shell is gone, even by SIGKILL. The
# command inherits the lock, so no other set-up begins before its last process has ended.
unseen() {
    local guard=()
    if type -P setpriv >/dev/null; then guard=(setpriv --pdeathsig TERM); fi
    stop_with=TERM
    TMPDIR=$scratch "${guard[@]}" timeout --kill-after=10 3600 "$@" </dev/null >&"$to_log" 2>&1 &
    running+=($!)
    if [[ -z $at_once ]]; then await_running; fi
}

# The same for what must not be cut in half: it is waited for, not ended, when set-up is interrupted.
unseen_whole() {
    stop_with=
    setsid -- "$@" </dev/null >&"$to_log" 2>&1 &
    running=($!)
    await_running
}

# Looks ten times a second instead of waiting once: a signal that comes between two commands would be seen only after a
# `wait` that it came just before.
await_running() {
    local status=0
    while kill -0 "${running[0]}" 2>/dev/null; do
        if [[ -t 2 ]]; then printf '\r\e[K  %d s' "$((SECONDS - step_started))" >&2; fi
        sleep 0.1
    done
    if [[ -t 2 ]]; then printf '\r\e[K' >&2; fi
    wait "${running[0]}" || status=$?
    running=()
    return "$status"
}

# Does several things at once, each a row of functions that run one program `unseen`: NAME=FUNCTION,FUNCTION. What is done is
# told by its name. Where one fails the others are ended; then `failed` is its name, the log is its own, and its status is returned.
side_by_side() {
    local names=("${@%%=*}") rows=("${@#*=}") pids=() logs=() place status=0 at_once=yes
    step_started=$SECONDS
    for place in "${!names[@]}"; do
        logs[place]=$scratch/$place.log
        go_on "$place"
    done
    while ((${#pids[@]} > 0)); do
        if [[ -t 2 ]]; then printf '\r\e[K  %d s' "$((SECONDS - step_started))" >&2; fi
        sleep 0.1
        for place in "${!pids[@]}"; do
            if kill -0 "${pids[place]}" 2>/dev/null; then continue; fi
            if [[ -t 2 ]]; then printf '\r\e[K' >&2; fi
            wait "${pids[place]}" || status=$?
            unset "pids[$place]"
            running=("${pids[@]}")
            if ((status != 0)); then
                failed=${names[place]}
                end_running
                mv -f -- "${logs[place]}" "$log"
                return "$status"
            fi
            if [[ -n ${rows[place]} ]]; then go_on "$place"; else
                say "  ${names[place]}: done in $((SECONDS - step_started)) s"
            fi
        done
    done
}

# Begins the next function of a row of `side_by_side`, whose variables these are.
go_on() {
    local next=${rows[$1]%%,*} to_log
    if [[ ${rows[$1]} == *,* ]]; then rows[$1]=${rows[$1]#*,}; else rows[$1]=''; fi
    written touch -- "${logs[$1]}"
    exec {to_log}>>"${logs[$1]}"
    "$next"
    exec {to_log}>&-
    pids[$1]=${running[-1]}
}

# Ends what is running; what it had begun is begun afresh, or gone on with, by the next start.
interrupted() {
    trap '' INT TERM HUP
    # The signal may have come before the process that was just started had been noted.
    mapfile -t running < <(jobs -pr)
    end_running
    remove_scratch
    if [[ -t 2 ]]; then printf '\r\e[K' >&2; fi
    say "set-up was interrupted; the next start goes on with it"
    exit "$1"
}

end_running() {
    local pid
    for pid in "${running[@]}"; do
        # More than once, because a process that is being started loses a signal.
        while [[ -n $stop_with ]] && kill -s "$stop_with" "$pid" 2>/dev/null; do sleep 0.3; done
        wait "$pid" 2>/dev/null || true
    done
    running=()
}

room_needed="about 1 GB is needed; make room, or set TLSTAX_CACHE to a folder on another disk"

# Under 50 MB free: the log lies on the same disk, so it may be too short to say so itself.
disk_is_full() {
    local free_kb
    free_kb=$(df --output=avail -k -- "$(existing_parent "$cache")" 2>/dev/null | tail -n 1)
    ((${free_kb:-51200} < 51200)) || grep -qs 'No space left on device' "$log"
}

existing_parent() {
    local folder=$1
    while [[ ! -e $folder ]]; do folder=$(dirname -- "$folder"); done
    printf '%s' "$folder"
}

# Ends a step that failed with the likeliest reason, or with the last lines of the log.
fail_step() {
    local what=$1
    remove_scratch
    if disk_is_full; then fail "$what failed: the disk that holds $cache is full: $room_needed"; fi
    if grep -qE 'resolve host|name resolution|Name or service not known|Network is unreachable|NewConnectionError|ConnectTimeout|Failed to connect|Could not connect|Connection refused|Proxy' "$log"; then
        fail "$what failed: the packages could not be downloaded: check the network or the proxy" \
            "and start again (details: $log)"
    fi
    if grep -qE 'CERTIFICATE_VERIFY_FAILED|SSL certificate problem' "$log"; then
        fail "$what failed: the registry's certificate does not verify: where a proxy inspects TLS, name its" \
            "certificate in PIP_CERT and CARGO_HTTP_CAINFO (details: $log)"
    fi
    # Without what would steer the terminal: a package's build may have written it.
    tail -n 15 "$log" | LC_ALL=C tr -d '\000-\010\013-\037\177' | sed 's/^/  /' >&2
    fail "$what failed; the lines above end its log, $log"
}
