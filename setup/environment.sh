# Makes the Python environment from a hash-locked requirement file, by the interpreter's own pip or a fetched one.
# shellcheck shell=bash disable=SC2154  # the variables of places.sh and system.sh

# An environment cannot be moved, so it is made where it stays; its marker `complete` comes last.
make_environment() {
    environment=$cache/environments/$environment_key-python$python_version
    written rm -rf -- "$environment"
    written mkdir -p -- "$cache/environments"
    step "installing the Python packages (once, about a minute)" install_requirements ||
        fail_step "installing the Python packages"
    written touch -- "$environment/complete"
}

# Debian packs ensurepip apart from Python, and pip itself in a wheel, which can be run as it is.
fetch_pip() {
    fetch_packages "$scratch/pip" python3-pip-whl || return
    local wheels=("$scratch"/pip/usr/share/python-wheels/pip-*.whl)
    if [[ -e ${wheels[0]} ]]; then pip=${wheels[0]}/pip; fi
    [[ -n $pip ]]
}

# On x86-64 every package is a wheel; elsewhere pip may have to compile one, with the headers of Python.
install_requirements() {
    unset PYTHONHOME PYTHONPATH
    local without_pip=() run_pip=(-m pip)
    if [[ -n $pip ]]; then without_pip=(--without-pip) run_pip=("$pip"); fi
    unseen "$python" -I -m venv "${without_pip[@]}" "$environment" &&
        unseen env PIP_USER=0 "$environment/bin/python" -I "${run_pip[@]}" install --no-input \
            --disable-pip-version-check --require-hashes -r "$root/$requirements"
}
