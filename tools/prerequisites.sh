#!/usr/bin/env bash
# Makes sure that Python 3.11+, a JDK 17+ and Maven are here.
# Installs what is missing on a Debian that is there for nothing else: as root in CI (CI=true) or in
# a container (unless CI=false). Elsewhere it installs nothing and says what to install.
# Prints the path of the Python to use on the last line.
set -eu

python_ok() { "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
find_python() {
  for candidate in ${PYTHON:-} python3.11 python3.12 python3.13 python3; do
    if command -v "$candidate" >/dev/null && python_ok "$candidate"; then command -v "$candidate"; return; fi
  done
}
jdk_ok() {
  local javac=javac
  [ -n "${JAVA_HOME:-}" ] && javac="$JAVA_HOME/bin/javac"
  [ "$("$javac" -version 2>&1 | sed -nE 's/^javac ([0-9]+).*/\1/p')" -ge 17 ] 2>/dev/null
}

missing=()
[ -n "$(find_python)" ] || missing+=(python3 python3-venv)
jdk_ok || missing+=(openjdk-17-jdk-headless)
command -v mvn >/dev/null || missing+=(maven)

may_install() {
  [ "$(id -u)" = 0 ] || return
  case "${CI:-}" in
    true) return 0 ;;
    "") [ -e /.dockerenv ] || [ -e /run/.containerenv ] ;;
    *) return 1 ;;
  esac
}
if [ ${#missing[@]} -gt 0 ] && command -v apt-get >/dev/null && may_install; then
  echo "Installing: ${missing[*]}" >&2
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"; } >&2 || true
fi

lacking=()
[ -n "$(find_python)" ] || lacking+=("Python 3.11 or newer with venv")
jdk_ok || lacking+=("a JDK 17 or newer (javac on PATH or JAVA_HOME)")
command -v mvn >/dev/null || lacking+=("Apache Maven (mvn on PATH)")
if [ ${#lacking[@]} -gt 0 ]; then
  (IFS=,; echo "Please install: ${lacking[*]}, then run make again." >&2)
  if command -v apt-get >/dev/null; then echo "Here: apt-get install ${missing[*]}" >&2; fi
  exit 1
fi
find_python
