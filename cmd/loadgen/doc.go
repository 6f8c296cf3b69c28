// Loadgen generates load on a Signalbox cluster, measures it, and checks the cluster's guarantees.
//
//	go run ./cmd/loadgen run --workload lock --concurrency 512 --connections 8 --duration 10s
//	go run ./cmd/loadgen list
//
// Package loadgen does the work.
package main
