// Loadgen puts a Signalbox cluster under load, measures how it does, and checks what it promises.
//
//	go run ./cmd/loadgen run --workload lock --callers 512 --connections 8 --duration 10s
//	go run ./cmd/loadgen list
//
// What it does is the package loadgen.
package main
