#!/bin/bash
# ./run and missing packages. As root, it installs and names them. Otherwise, it prints the command
# to install them. Scripts stand in for its tools, so that the test installs nothing.
source "$(dirname "$0")/lib.sh"
mkdir tools tree
cp "$root/run" tree/run
play() { printf '#!/bin/sh\n%s\n' "$2" >"tools/$1" && chmod +x "tools/$1"; }
play dpkg-query 'for name; do :; done; [ "$name" = cmake ] && echo "install ok installed"; exit 0'
play apt-get "echo \"\$*\" >>$work/apt.log"
play sudo 'exit 1'
play cmake 'echo no CMakeLists.txt; exit 1'
try() { # STATUS
    PATH=$work/tools:$PATH tree/run build >out 2>err
    local status=$?
    err=$(cat err)
    [ $status = "$1" ] || fail "status $status instead of $1: $err"
}

play id 'echo 1000'
try 3
case $err in "kforge: missing packages; install them with: sudo apt-get install --no-install-recommends gcc g++ ninja-build "*) ;; *) fail "no command: $err" ;; esac
case " $err " in *" cmake "*) fail "asks for what is there: $err" ;; esac
[ ! -e apt.log ] || fail "apt-get was called without root: $(cat apt.log)"

play id 'echo 0'
try 3 # there is nothing to build
case $err in "kforge: installing gcc g++ ninja-build "*"cmake failed"*) ;; *) fail "does not say what it installs: $err" ;; esac
grep -q '^update' apt.log || fail "no update: $(cat apt.log)"
grep -q '^install -qq -y --no-install-recommends gcc g++ ninja-build ' apt.log || fail "not installed: $(cat apt.log)"

play apt-get 'echo no such package; exit 100'
try 3
case $err in *"no such package"*"the packages could not be installed; install them with: apt-get install --no-install-recommends gcc g++ "*) ;; *) fail "$err" ;; esac

# Another package manager has the lock of the lists, later that of dpkg: ./run says so once for each, and waits.
play sleep 'exit 0'
cat >tools/apt-get <<'END'
#!/bin/sh
echo "$1" >>turns
case $1:$(grep -c "^$1" turns) in
update:1) echo 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 17 (apt-get)' && exit 100 ;;
update:2) echo 'E: Could not get lock /var/lib/apt/lists/lock - open (11: Resource temporarily unavailable)' && exit 100 ;;
install:1) echo 'E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 18 (unattended-upgr)' && exit 100 ;;
esac
END
try 3
case $err in *"installing packages: process 17 (apt-get); waiting for it, up to 10 minutes"*"installing packages: process 18 (unattended-upgr); waiting"*"cmake failed"*) ;; *) fail "does not wait: $err" ;; esac
[ "$(sort turns | uniq -c | tr -s ' \n' ' ')" = ' 2 install 3 update ' ] || fail "turns: $(cat turns)"
rm tools/sleep

# The estimate of the build's time follows the processors.
play nproc 'echo 1'
try 3
case $err in *"building in build/release; the first time this takes about 2 minutes on 1 idle processor"*) ;; *) fail "no estimate: $err" ;; esac
play nproc 'echo 8'
try 3
case $err in *"this takes about 26 seconds on 8 idle processors"*) ;; *) fail "no estimate: $err" ;; esac
rm tools/nproc

# A word that is no command of ./run is one of kforge, under the name that its hints begin with.
mkdir -p tree/build/release/bin
touch tree/build/release/build.ninja
play cmake 'exit 0'
play ninja 'exit 0'
printf '#!/bin/bash\necho "kforge $*"\n' >tree/build/release/bin/kforge
chmod +x tree/build/release/bin/kforge
[ "$(PATH=$work/tools:$PATH tree/run bench tasks --cost 20 2>err)" = "kforge bench tasks --cost 20" ] || fail "./run bench: $(cat err)"
rm -r tree/build
play cmake 'echo no CMakeLists.txt; exit 1'

# An installation lists its files and the folders that it made. Files of another version are deleted.
# Uninstalling deletes all listed files, and listed folders that are empty.
mkdir -p tree/build/release tree/build/release/new
touch tree/build/release/build.ninja
# Without a terminal a build prints a line every 30 s. Each look at this clock takes 20 s.
play date 'echo x >>clock; expr 20 \* "$(wc -l <clock)"'
play ninja 'for i in 1 2 3 4 5; do echo "${NINJA_STATUS%%%*}$i/5 Building x.o"; done'
try 0
[ "$(grep building err | tr '\n' ' ')" = "kforge: building 2/5 kforge: building 4/5 " ] || fail "no progress: $err"
rm tools/date
play ninja 'echo "kforge: building 1/2 x.o"; echo broken; exit 1'
try 1
case $err in *"broken"*"the build failed"*) ;; *) fail "$err" ;; esac
play ninja 'exit 0'
cat >tools/cmake <<'END'
#!/bin/sh
[ "$1 $3" = "--install --prefix" ] || exit 1
cd "$(dirname "$0")/../new" && find . -type f | while read -r file; do
    mkdir -p "$4/$(dirname "$file")" && cp "$file" "$4/$file" && echo "$4/${file#./}"
done >"$2/install_manifest.txt"
END
installs() { # STATUS ARGUMENT…
    local expected=$1 status
    shift
    PATH=$work/tools:$PATH tree/run "$@" >out 2>err
    status=$?
    err=$(cat err)
    [ $status = "$expected" ] || fail "$*: status $status instead of $expected: $err"
}
files() { (cd prefix && find . -type f | sort | tr '\n' ' '); }
mkdir -p new/bin new/lib/kforge/old new/share/kforge/tasks new/share/doc/kforge 'prefix/share/kforge/mine' prefix/bin
touch new/bin/kforge new/lib/kforge/old/a.so 'new/share/kforge/tasks/a b.json' new/share/doc/kforge/README.md prefix/bin/other prefix/share/kforge/mine/x
installs 0 install prefix
case $err in *"installed in $work/prefix ("*" MB)"*"prefix/bin is not in your PATH"*) ;; *) fail "$err" ;; esac
rm -r new/lib/kforge/old
touch new/lib/kforge/b.so
installs 0 install "$work/prefix"
[ "$(files)" = './bin/kforge ./bin/other ./lib/kforge/b.so ./share/doc/kforge/README.md ./share/kforge/installed_files.txt ./share/kforge/mine/x ./share/kforge/tasks/a b.json ' ] ||
    fail "the second version: $(files)"
[ ! -e prefix/lib/kforge/old ] || fail "an empty folder is left"
mkdir prefix/share/doc/theirs
mv prefix moved && ln -s moved prefix
installs 0 uninstall prefix
left() { (cd "$1" && find . | LC_ALL=C sort | tr '\n' ' '); }
[ "$(left moved)" = '. ./bin ./bin/other ./share ./share/doc ./share/doc/theirs ./share/kforge ./share/kforge/mine ./share/kforge/mine/x ' ] ||
    fail "left: $(left moved)"
# An empty folder that was there before stays. One that kforge made goes, PREFIX too.
mkdir -p theirs/share/doc
installs 0 install theirs
installs 0 install theirs/new
installs 0 uninstall theirs/new
[ ! -e theirs/new ] || fail "left: $(left theirs/new)"
installs 0 uninstall theirs
[ "$(left theirs)" = '. ./share ./share/doc ' ] || fail "left: $(left theirs)"
installs 2 uninstall prefix
case $err in *"prefix has no installation by ./run install"*) ;; *) fail "$err" ;; esac
installs 2 install
echo ../outside >moved/share/kforge/installed_files.txt
touch outside
installs 1 uninstall prefix
[ -e outside ] || fail "a file outside was removed"
rm -r tree/build

# With sudo that asks for no password
play id 'echo 1000'
play sudo '[ "$1" = -n ] && shift; [ "$1" = true ] && exit 0; echo "sudo $*" >>'"$work"'/apt.log; exit 0'
rm apt.log
try 3
grep -q '^sudo env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get install ' apt.log || fail "not through sudo: $(cat apt.log)"
finish
