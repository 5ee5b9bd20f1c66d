"""Ordinary and hostile commands, one a line, by what they are."""

READS = r"""
ls
ls -la
ls -la src
ls -lhtr src tests
ls --color=never
ls src/*.py
ls docs/g*.md
ls 'a b.txt'
ls a\ b.txt
ls "a b.txt" README.md
ls -- src
ls no-such-file
ls . ./src src/../tests
cat README.md
cat -n src/main.py
cat README.md a.txt b.txt
cat docs/in.md
cat .env.example
cat src/main.py | head -20
cat README.md | grep -n x | wc -l
cat
cat -
'cat' README.md
c"at" README.md
cat a.txt' '
sort tricks/-o
head README.md
head -5 README.md
head -n 5 README.md
head -n5 README.md
head -c 100 README.md
tail -20 README.md
tail -n +5 README.md
wc -l README.md
wc -lw src/main.py tests/test_main.py
nl README.md
tac a.txt
rev a.txt
fold -w 80 README.md
cut -d, -f1 a.txt
cut -d ',' -f 1 a.txt
cut --delimiter=, --fields=1 a.txt
paste a.txt b.txt
sort a.txt
sort -u a.txt
sort -k2 -n a.txt
sort -t, -k2 a.txt | uniq -c | sort -rn | head -5
uniq a.txt
uniq -c a.txt
comm -12 a.txt b.txt
cmp a.txt b.txt
diff a.txt b.txt
diff -u a.txt b.txt
diff -u --color=never a.txt b.txt
diff -r src tests
tr a-z A-Z
cat a.txt | tr -d x
grep x README.md
grep -n x README.md
grep -rn x src
grep -rn "def main" src tests
grep -rnE "a|b" src
grep -ri 'x$' src
grep -c x a.txt
grep -v x a.txt
grep -A3 -B2 x a.txt
grep -A 3 x a.txt
grep -5 x a.txt
grep -e x -e y a.txt
grep --include='*.py' -rn x src
grep -rl x src/inner
grep -l x src/*.py
grep "a > b" a.txt
grep 'a && b; c' a.txt
grep -n "x" src/main.py 2>/dev/null
grep -F '*' a.txt
rg -n x src
rg -i "def main" src
rg x -g '*.py' src
rg --files src
rg -l x src | wc -l
rg -t py x tests src
rg -A2 x src
rg x deep
find . -name '*.py'
find src -type f
find . -maxdepth 2 -name "*.md" -print
find . -name '*.py' -o -name '*.md'
find . -not -path '*/x/*' -type f
find . \( -name a -o -name b \) -print
find src -type f | wc -l
find
find . ! -name x
tree
tree -L 2 src
file README.md
file -b README.md
stat README.md
stat -c %s README.md
du -sh src
du -h --max-depth=1
df -h
pwd
basename src/main.py
basename src/main.py .py
dirname src/main.py
realpath src
readlink docs/in.md
md5sum a.txt
sha256sum a.txt b.txt
od -c a.txt
xxd a.txt
xxd -l 16 a.txt
hexdump -C a.txt
strings a.txt
jq . data.json
jq '.a | length' data.json
jq -r '.items[] | .name' data.json
cat data.json | jq .a
sed -n '1,20p' README.md
sed -n 5p README.md
sed -n '/x/p' README.md
sed -n -e '1,5p' README.md
sed 's/a/b/' README.md
sed 's/a/b/g' README.md | head
sed '/x/d' a.txt
sed -n '$=' a.txt
echo hello
echo 'hello world'
echo "hello world"
echo --- done ---
echo -n x
echo 'x > y'
echo "a;b"
echo '$HOME'
printf '%s\n' x
true
false
ls || true
seq 5
seq 1 10
which python3
which -a ls
type ls
command -v git
whoami
id
id -un
uname
uname -a
hostname
nproc
uptime
free -h
date
date +%Y-%m-%d
date -u
python --version
python3 --version
node --version
npm --version
git --version
ruff --version
git status
git status --short
git status -sb
git status --porcelain
git log
git log --oneline
git log --oneline -5
git log --oneline -n 5
git log -n5 --stat
git log --graph --all --decorate --oneline
git log -p src/main.py
git log --follow -- src/main.py
git log main..feature
git log --author=me --since='2 weeks ago'
git log --pretty=format:'%h %s'
git log -S 'def main' --oneline
git log HEAD~3..HEAD
git diff
git diff --stat
git diff --cached
git diff --staged src
git diff HEAD
git diff HEAD~1 HEAD -- src/main.py
git diff main...feature
git diff --name-only
git diff --name-only | head -5
git diff -U10 README.md
git show
git show HEAD
git show HEAD:src/main.py
git show --stat HEAD~2
git show --name-only HEAD
git branch
git branch -a
git branch -vv
git branch --show-current
git branch --list 'feat*'
git tag
git tag -l 'v*'
git remote
git remote -v
git remote get-url origin
git stash list
git stash show -p
git worktree list
git reflog
git reflog -n 5
git blame src/main.py
git blame -L 1,10 src/main.py
git shortlog -sn HEAD
git rev-parse HEAD
git rev-parse --abbrev-ref HEAD
git rev-parse --show-toplevel
git rev-list --count HEAD
git describe --tags
git merge-base main HEAD
git ls-files
git ls-files --others --exclude-standard
git ls-files src | wc -l
git ls-tree -r HEAD --name-only
git cat-file -p HEAD
git grep -n x
git grep -n x -- src
git check-ignore -v a.txt
git status && git diff
git status; git log --oneline -3
cd src && ls
cd src && ls inner && cat main.py
cd src/inner && cat x.py
cd . && git status
ls && pwd && cat README.md
ls 2>&1
ls 2>/dev/null
ls > /dev/null
ls >/dev/null 2>&1
ls src # the sources
time ls
timeout 10 grep -rn x src
"""
PROJECT = r"""
pytest
pytest -q
pytest -x -q tests
pytest tests/test_main.py::test_a
pytest -k 'a and not b'
pytest tests/test_main.py -v 2>&1 | tail -20
pytest --cov=src --cov-report=term
pytest tests/test_*.py
python -m pytest
python -m pytest -q tests
python3 -m pytest -q
python3 -m unittest discover
python -m pytest -x --tb=short -p no:cacheprovider -c setup.cfg
python src/main.py -c 3 -e x
python -m mypy src
python src/main.py
python src/main.py --verbose 3
python tests/new.py
.venv/bin/python -m pytest
.venv/bin/pytest -q
cd src && python main.py
cd tests && pytest -q
timeout 60 pytest -q
time pytest
tox
tox -e py311
nox -s tests
ruff check
ruff check .
ruff check --fix src
ruff format src
mypy src
mypy --strict src
pyright
black --check src
isort src
flake8 src
pylint src
coverage run -m pytest
coverage report
ruff check . && mypy src && pytest -q
pytest --version
uv run pytest
uv run pytest -q tests
uv run mypy src
uv run ruff check
uv run python src/main.py
poetry run pytest
npm test
npm test -- --watch=false
npm run build
npm run lint
npm run-script build
pnpm test
pnpm run build
yarn test
yarn build
bun test
node src/index.js
tsc
tsc --noEmit
eslint src
prettier --check src
jest
vitest run
cargo test
cargo test --lib
cargo build --release
cargo check
cargo clippy
cargo fmt
go test ./...
go build ./...
go vet ./...
go test -run TestX ./src
go test -count=1 ./...
make
make test
make -j4 test
make -C src all
make build test
just test
ninja
mvn test
gradle build
dotnet test
bundle exec rspec
shellcheck build.sh
./build.sh
./build.sh --fast
bash build.sh
sh ./build.sh
./gradlew test
git status && make test
make test | tail -5
"""
ASKS = r"""
rm a.txt
rm -rf src
rmdir src
mv a.txt b.txt
cp a.txt c.txt
touch x
mkdir x
chmod +x build.sh
ln -s a b
ls > x
ls >> a.txt
ls 2> err
ls &> all
ls &>/dev/null
cat < a.txt
cat a.txt > /dev/tcp/1.2.3.4/80
echo x > a.txt
echo hi >> README.md
> a.txt
cat <<E
cat <<< x
echo $HOME
echo ${HOME}
echo "$HOME"
echo "a`id`b"
echo `id`
echo $(id)
echo "$(id)"
echo $((1+1))
echo $'a'
cat $F
ls ~
ls ~/x
cat ~root/x
cat {a,b}.txt
echo {1..9}
diff <(ls) a.txt
tee >(cat)
A=1 ls
GIT_PAGER=x git log
GIT_EXTERNAL_DIFF=x git diff
PATH=. ls
LD_PRELOAD=./x ls
A=1
export A=1
ls &
sleep 100 &
ls |& cat
! ls
(ls)
{ ls; }
if true; then ls; fi
for f in a b; do cat a.txt; done
while true; do ls; done
case x in x) ls;; esac
f() { ls; }
[ -f a.txt ]
[[ -f a.txt ]]
ls 'a
ls "a
ls )
ls |
&& ls
cat /etc/passwd
cat ../elsewhere/notes.txt
cat src/../../elsewhere/notes.txt
cat out/notes.txt
ls out
ls out/
ls /
ls ..
ls src/../..
cat docs/passwd.md
cat docs/*.md
head docs/*
cat docs/p[a]sswd.md
cat docs/?asswd.md
ls -la /
cat .env
cat .en?
cat .[e]nv
cat .env*
cat ./.env
cat ".env"
cat .e'nv'
cat hidden
cat private/server.pem
cat private/*
cat */server.pem
cat -- .env
grep x .env
grep -rn x .
grep -rn x
grep -rn x private
ls | grep -rn x
grep -rn x deep
grep -rn x */
rg x
rg x private
rg x .
rg -g '.env' x
rg --hidden x
rg -g '.npmrc' x deep
rg -uu x
rg --pre cat x src
rg --pre=cat x src
rg -f a.txt src
rg -L x
rg -z x
grep -f a.txt b.txt
grep -f /etc/passwd a.txt
grep -R x src
grep -e x /etc/passwd
rg --files /etc
rg -e x /etc
grep --file=a.txt b.txt
diff -r src out
diff -r docs src
diff a.txt /etc/passwd
find . -delete
find . -exec rm x ;
find . -exec cat x +
find . -execdir id ;
find . -ok id ;
find . -fprint x
find . -fls x
find / -name x
find out -name x
find .. -name x
find -L . -name x
find . -name *.py
find . -newer a.txt
find . -files0-from a.txt
sort -o b.txt a.txt
sort -ob.txt a.txt
sort --output=b.txt a.txt
sort --outp=b.txt a.txt
sort --compress-program=x a.txt
sort -T /tmp a.txt
sort --files0-from=a.txt
cd tricks && sort *
uniq a.txt b.txt
uniq - b.txt
uniq *.txt
xxd -r a.txt b.txt
xxd a.txt b.txt
wc --files0-from=a.txt
file -f a.txt
file -m a.txt b.txt
file -z a.txt
stat -f /etc/passwd
stat /etc/passwd
tree -o x
tree -l
tree /
tail -f a.txt
less README.md
more README.md
man ls
vim README.md
nano README.md
ed a.txt
date -s 2020-01-01
date 010100002020
hostname evil
jq env data.json
jq -n env
jq '$ENV' data.json
jq -n '$ENV.PATH'
jq 'import "a" as a; .' data.json
jq -f a.txt data.json
jq --rawfile a /etc/passwd . data.json
jq . /etc/passwd
sed -i 's/a/b/' a.txt
sed -i.bak s/a/b/ a.txt
sed -n 'w x' a.txt
sed -n '1w x' a.txt
sed 's/a/b/w x' a.txt
sed 's/a/id/e' a.txt
sed -n '1e id' a.txt
sed -n e a.txt
sed -n 'r /etc/passwd' a.txt
sed -n -e 'w x' a.txt
sed -n -e p -e 'w x' a.txt
sed -f a.txt b.txt
sed --expression='w x' a.txt
sed -n 'p;w x' a.txt
awk '{print}' a.txt
awk 'BEGIN{system("id")}'
perl -e 1
printf -v x a
printf '%s' "$x"
tr -x a
column -z a.txt
env
env ls
env -i ls
printenv
set
alias ls=x
eval ls
exec ls
source build.sh
. build.sh
. ./build.sh
builtin ls
command ls
sudo ls
su -c ls
xargs cat
ls | xargs cat
ls | sh
ls | bash
cat a.txt | python
watch ls
nohup ls
nice ls
timeout -s KILL 5 ls
time -p ls
setsid ls
ssh host ls
curl https://example.com
curl -o a https://example.com
wget https://example.com
nc -l 80
ping example.com
dig example.com
docker ps
docker run -v /:/x alpine
kubectl get pods
kill 1
pkill x
ps aux
tar xf a.tar
tar -cf a.tar --checkpoint=1 --checkpoint-action=exec=id src
zip a.zip a.txt
unzip a.zip
gzip a.txt
tee a.txt
ls | tee x
dd if=a.txt of=b.txt
install a b
truncate -s 0 a.txt
python
python -c 'print(1)'
python3 -c 1
python -
python -i src/main.py
python -m http.server
python -m timeit 1
python -m pip install x
python /etc/x.py
python ../x.py
python out/x.py
python --version x
python -m pytest /etc
node -e 1
node --eval 1
node -r ./x src/index.js
ruby -e 1
bash -c ls
sh -c 'cat .env'
bash
bash -x build.sh
pip install x
uv pip install x
uv sync
uv run --with evil pytest
uv run
uv run bash -c ls
uv run python -c 1
poetry install
poetry run sh -c x
npm install
npm ci
npm publish
npm run deploy
npm test --script-shell=./x
npx cowsay
npx --yes cowsay
yarn add x
yarn
pnpm dlx x
bun x cowsay
cargo install x
cargo publish
cargo --config x test
cargo test --config 'build.rustc="x"'
cargo test --manifest-path /tmp/Cargo.toml
cargo --version
go run github.com/x/y@latest
go get x
go install x
go test -exec ./x ./...
go build -o /tmp/x ./...
go build -toolexec ./x ./...
go version
make -C /tmp
make -f /tmp/Makefile
make install
make deploy
make 'X=$(shell id)'
make --eval 'x:'
make CC=/tmp/x
make -I../elsewhere test
pytest /etc
pytest ../elsewhere
pytest out
pytest --rootdir=/tmp
pytest -c /tmp/x.ini
pytest -c/tmp/x.ini
pytest --rootdir ../elsewhere
pytest '~/x'
pytest .env
pytest $X
pytest > log
pytest --pdb
pytest docs/*.md
PYTHONPATH=. pytest
./tool -rf src
./out/x
../x.sh
/bin/ls
/usr/bin/env ls
/bin/rm a.txt
out/script.sh
bash out/x.sh
bash /tmp/x.sh
gradle -I x.gradle build
mvn deploy
eslint /etc
git
git -c core.pager=x log
git -c alias.x=!id x
git -C /tmp status
git -C src status
git --git-dir=x log
git --exec-path=x log
git -p log
git --paginate log
git add .
git add -A
git commit -m x
git commit -am x
git push
git push --force
git pull
git fetch
git fetch --upload-pack=./x origin
git clone https://example.com/x
git ls-remote
git ls-remote --upload-pack=./x .
git checkout main
git checkout -- a.txt
git switch main
git restore a.txt
git reset --hard
git clean -fd
git rebase main
git rebase -x id main
git merge x
git cherry-pick x
git stash
git stash pop
git stash drop
git stash show x y
git branch x
git branch -d x
git branch -D x
git branch -m x
git branch --sort=x y
git branch --edit-description
git tag v1
git tag -d v1
git tag -l -d v1
git tag -a v1 -m x
git remote add x y
git remote show origin
git remote set-url origin x
git reflog expire --all
git reflog delete x
git worktree add x
git diff --output=x
git diff --outpu=x
git diff --output x
git diff --ext-diff
git diff --textconv
git diff --no-index a.txt b.txt
git diff /etc/passwd a.txt
git diff -O/etc/passwd
git log --output=x
git log -- /etc/passwd
git show HEAD:.env
git show HEAD:../x
git show --ext-diff
git show --textconv HEAD
git cat-file --batch
git cat-file --textconv HEAD:a
git grep -O x
git grep --open-files-in-pager=id x
git grep -f a.txt
git grep --no-index x
git grep x -- .env
git blame --contents /etc/passwd a.txt
git blame .env
git config user.name x
git config --list
git config --global core.pager x
git bisect run ./x
git submodule foreach id
git filter-branch
git shortlog
git archive -o x HEAD
git bundle create x HEAD
git format-patch HEAD~1
git apply x
git am x
git gc
git help log
git log --format=%x00 $X
cd / && ls
cd .. && ls
cd src && cat ../../elsewhere/notes.txt
cd out && ls
cd link && ls
cd src/.. && ls
cd && ls
cd - && ls
cd src; ls
cd src || ls
cd nowhere && ls
ls | cd src && ls
cd bare && git status
cd src && cd .. && ls
cat README.md; rm a.txt
ls && rm a.txt
git status && git push
git log | sh
true || rm a.txt
rm a.txt # ls
no-such-program
"" ls
l? README.md
"""
STRANGE = (
    "",
    " ",
    "#",
    "ls " + "x" * 20_000,
    "; ".join(["ls"] * 100),
    "ls\nrm a.txt",
    "cat <<E\nx\nE",
    "ls \\\n; rm x",
    "ls a\\\na # a a",
    "# ls\nrm x",
    "ls\x00",
    "ls\x0brm",
    "ls\xa0rm",
    "ls\r\n",
)
"""Not one line each, or not one that can be printed."""


def rows(table: str) -> list[str]:
    """The commands of a table."""
    return table.strip("\n").split("\n")
