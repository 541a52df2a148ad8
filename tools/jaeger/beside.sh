#!/bin/sh
# Runs Jaeger, which keeps traces in memory, and 'pigeon dev' beside it, until Ctrl-C.
#   beside.sh JAEGER PIGEON
set -eu

jaeger=$1
pigeon=$2
otlp=${JAEGER_OTLP:-127.0.0.1:4317}
api=${JAEGER_HTTP:-127.0.0.1:16686}

"$jaeger" --collector.otlp.enabled=true --collector.otlp.grpc.host-port="$otlp" --collector.otlp.http.host-port=127.0.0.1:0 \
	--collector.grpc-server.host-port=127.0.0.1:0 --collector.http-server.host-port=127.0.0.1:0 \
	--query.http-server.host-port="$api" --query.grpc-server.host-port=127.0.0.1:0 --admin.http.host-port=127.0.0.1:0 --log-level=warn &
server=$!
trap 'kill $server 2>/dev/null || :; wait $server 2>/dev/null || :' EXIT
trap : INT TERM # dev gets them as well, and ends

echo "Jaeger keeps traces of 'pigeon dev': http://$api/api/traces?service=pigeon-frontend"
"$pigeon" dev --otlp "$otlp" --trace-url "http://$api/trace/{trace}"
