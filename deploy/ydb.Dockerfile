# The gateway for YDB's SDKs, one static binary and nothing else. From the top of the source tree:
#
#   docker build -f deploy/ydb.Dockerfile -t signalbox-ydb:local .
#   docker run -p 2136:2136 -p 127.0.0.1:2137:2137 signalbox-ydb:local \
#       --listen 0.0.0.0:2136 --metrics-listen 0.0.0.0:2137 --endpoints signalbox-0:7420,signalbox-1:7420 \
#       --publish ydb-0.example:2136
#
# Tickets need TLS: give it --tls-cert and --tls-key. It keeps nothing: run as many as you like.

FROM golang:1.26 AS build
WORKDIR /src
COPY . .
ARG VERSION=devel
RUN cd gateway/ydb && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" \
    -o /out/signalbox-ydb ./signalbox-ydb

FROM scratch
COPY --from=build /out/signalbox-ydb /usr/local/bin/signalbox-ydb
USER 65532:65532
ENV PATH=/usr/local/bin
# SDKs, and health with metrics.
EXPOSE 2136 2137
STOPSIGNAL SIGTERM
ENTRYPOINT ["signalbox-ydb"]
