# Sets up from the bundle that this copy of tlstax came in: what it is is verified, and nothing is fetched.
# shellcheck shell=bash disable=SC2034,SC2154  # the variables of places.sh, steps.sh and system.sh

# shellcheck source=setup/steps.sh
source "$root/setup/steps.sh"
# shellcheck source=setup/system.sh
source "$root/setup/system.sh"
# shellcheck source=setup/set_up.sh
source "$root/setup/set_up.sh"

# Afterwards `environment` and `engine` name what was found or unpacked.
set_up_from_bundle() {
    if [[ $requirements != setup/requirements.txt ]]; then
        fail "Ray is not in this bundle, and a bundle fetches nothing: use a clone, where there is a network"
    fi
    verify_bundle
    check_machine
    begin_steps
    find_environment
    find_engine
    if [[ -z $environment ]]; then unpack_environment; fi
    if [[ -z $engine ]]; then unpack_engine; fi
    note_use
    remove_unused
    end_steps
}

# Each value that the bundle's list of contents has for a word.
carried() { sed -n "s/^$1 //p" -- "$root/bundle.txt"; }

# Every file has the checksum that it was put in with, and none is missing, nor any line of the checksums.
verify_bundle() {
    local wrong
    wrong=$(cd -- "$root" && LC_ALL=C sha256sum --check --quiet --strict SHA256SUMS 2>&1) || fail_damaged "${wrong%%:*}"
    if [[ $(wc -l <"$root/SHA256SUMS") != "$(carried files)" ]]; then fail_damaged SHA256SUMS; fi
}

fail_damaged() {
    local what=$1
    # What sha256sum says of the list itself begins with its own name.
    if [[ $what == sha256sum ]]; then what=SHA256SUMS; fi
    fail "this bundle is damaged or incomplete ($what): copy the file here again, and unpack it again"
}

# Its programs run on this processor and this C library.
check_machine() {
    local made_for here
    made_for=$(carried machine)
    if [[ $made_for != "$HOSTTYPE" ]]; then
        fail "this bundle is for $made_for, and this machine is $HOSTTYPE: make one on a machine like this"
    fi
    made_for=$(carried glibc)
    here=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed 's/^glibc //') || true
    if ! at_least "$made_for" "$here"; then
        fail "this bundle needs the GNU C library $made_for or newer (found ${here:-none}):" \
            "make one on a machine that has this system"
    fi
}

# Sets `python` and `python_version` to one that the bundle has packages for, or ends with what would help.
choose_python() {
    lacks=() pip=carried found_pythons=()
    served=$(carried python)
    look_for_python
    if ! is_missing python; then return; fi
    local listed remedy=
    printf -v listed '%s, ' "${found_pythons[@]}"
    if ((${#found_pythons[@]} > 0)) && at_least "$minimum_python" "${found_pythons[0]}"; then
        remedy=", or make a bundle for it: tlstax bundle --python ${found_pythons[0]}"
    fi
    listed=${listed%, }
    fail "this bundle is for Python ${served//$'\n'/ or }, which is not on this machine (found ${listed:-none}):" \
        "install that$remedy"
}

# An environment cannot be moved, so it is made where it stays; its marker `complete` comes last.
unpack_environment() {
    choose_python
    environment=$cache/environments/$environment_key-python$python_version
    written rm -rf -- "$environment"
    written mkdir -p -- "$cache/environments"
    step "unpacking the Python packages" unpack_packages || fail_step "unpacking the Python packages"
    written touch -- "$environment/complete"
}

unpack_packages() {
    unset PYTHONHOME PYTHONPATH
    unseen "$python" -I -m venv --without-pip "$environment" &&
        unpack_part "python-$python_version" "$environment/lib/python$python_version/site-packages"
}

unpack_part() { unseen "$environment/bin/python" -I "$root/setup/unpack.py" "$root/parts/$1.tar.xz" "$2"; }

unpack_engine() {
    engine=$cache/engines/$engine_key/tlstax-engine
    step "unpacking the load engine" unpack_part engine "$scratch/engine" || fail_step "unpacking the load engine"
    written mkdir -p -- "$cache/engines"
    written rm -rf -- "${engine%/*}"
    # In one step, because another tlstax may look for it at this moment.
    written mv -T -- "$scratch/engine" "${engine%/*}"
}
