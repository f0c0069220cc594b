# Makes the Python environment from a hash-locked requirement file, by the interpreter's own pip or a fetched one.
# shellcheck shell=bash disable=SC2154  # the variables of places.sh and system.sh

# An environment cannot be moved, so it is made where it stays; its marker `complete` comes last.
begin_environment() {
    environment=$cache/environments/$environment_key-python$python_version
    written rm -rf -- "$environment"
    written mkdir -p -- "$cache/environments"
    unset PYTHONHOME PYTHONPATH
    if [[ -n $pip ]]; then without_pip=(--without-pip) run_pip=("$pip"); else without_pip=() run_pip=(-m pip); fi
}

end_environment() { written touch -- "$environment/complete"; }

# Debian packs ensurepip apart from Python, and pip itself in a wheel, which can be run as it is.
fetch_pip() {
    fetch_packages "$scratch/pip" python3-pip-whl || return
    local wheels=("$scratch"/pip/usr/share/python-wheels/pip-*.whl)
    if [[ -e ${wheels[0]} ]]; then pip=${wheels[0]}/pip; fi
    [[ -n $pip ]]
}

make_virtual_environment() { unseen "$python" -I -m venv "${without_pip[@]}" "$environment"; }

# On x86-64 every package is a wheel; elsewhere pip may have to compile one, with the headers of Python.
install_requirements() {
    unseen env PIP_USER=0 "$environment/bin/python" -I "${run_pip[@]}" install --no-input \
        --disable-pip-version-check --require-hashes -r "$root/$requirements"
}
