module github.com/signalbox/signalbox

go 1.26

require (
	github.com/cespare/xxhash/v2 v2.3.0
	github.com/valyala/bytebufferpool v1.0.0
	github.com/vmihailenco/msgpack/v5 v5.4.1
)

require (
	github.com/VictoriaMetrics/metrics v1.44.0 // indirect
	github.com/panjf2000/ants/v2 v2.12.1 // indirect
	github.com/panjf2000/gnet/v2 v2.10.0 // indirect
	github.com/philhofer/fwd v1.2.0 // indirect
	github.com/tinylib/msgp v1.6.5 // indirect
	github.com/valyala/fastrand v1.1.0 // indirect
	github.com/valyala/histogram v1.2.0 // indirect
	github.com/vmihailenco/tagparser/v2 v2.0.0 // indirect
	go.uber.org/multierr v1.11.0 // indirect
	go.uber.org/zap v1.28.0 // indirect
	golang.org/x/mod v0.18.0 // indirect
	golang.org/x/sync v0.11.0 // indirect
	golang.org/x/sys v0.38.0 // indirect
	golang.org/x/tools v0.22.0 // indirect
	gopkg.in/natefinch/lumberjack.v2 v2.2.1 // indirect
)
