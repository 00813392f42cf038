# Installs ppaurora on Windows into .\venv, with the packages that it was tested with and no others:
#
#   powershell -ExecutionPolicy Bypass -File install.ps1 owner    an owner, or the coordinator
#   powershell -ExecutionPolicy Bypass -File install.ps1 app      the same with the pages in a browser (ppaurora app)
#
# The lock files name versions and the SHA-256 of every file; pip refuses any other. These are the steps of
# install.sh; so far they were compared with those, and not run on Windows. Nodes run on Linux and macOS.
param([string]$For = "")
$ErrorActionPreference = "Stop"
Set-Location $PSScriptRoot
if ($For -notin "owner", "app") {
    [Console]::Error.WriteLine("usage: install.ps1 owner, or: install.ps1 app")
    exit 2
}
$python = if ($env:PYTHON) { $env:PYTHON } else { "python" }
& $python -c "import sys; sys.exit(sys.version_info < (3, 11) and 'ppaurora needs Python 3.11 or newer; name one in the variable PYTHON')"
if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
& $python -m venv venv
if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
& venv\Scripts\pip.exe install --require-hashes -r "requirements-$For.lock"
if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
& venv\Scripts\pip.exe install --no-deps --no-build-isolation .
if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
& venv\Scripts\ppaurora.exe --version
exit $LASTEXITCODE
