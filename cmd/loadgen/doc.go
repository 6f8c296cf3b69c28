// Loadgen puts a Signalbox cluster under load, measures it, and checks its promises.
//
//	go run ./cmd/loadgen run --workload lock --concurrency 512 --connections 8 --duration 10s
//	go run ./cmd/loadgen list
//
// The work is done by the package loadgen.
package main
