#!/bin/sh
# Checks for a Go that can build Pigeon, and prints what to install if there is none.
set -eu

go=${GO:-go}
want=$(awk '$1 == "go" { print $2; exit }' go.mod)

if ! command -v "$go" >/dev/null 2>&1; then
	cat >&2 <<-END
	Pigeon needs Go $want or newer, and '$go' was not found.
	  install it:      apt-get install golang-go
	  if that is old:  go install golang.org/dl/go$want@latest && go$want download
	  then:            make GO=go$want
	END
	exit 2
fi

# A Go from 1.21 on fetches the version that go.mod asks for, unless told not to.
if have=$("$go" env GOVERSION 2>&1); then
	have=${have#go}
	have=${have%% *}
	oldest=$(printf '%s\n%s\n' "$want" "$have" | sort -V | head -n 1)
	if [ "$oldest" = "$want" ]; then
		exit 0
	fi
fi
cat >&2 <<-END
	Pigeon needs Go $want or newer; '$go' says: $have
	  install it:  $go install golang.org/dl/go$want@latest && go$want download
	  then:        make GO=go$want
END
exit 2
