// Package ydb is a gateway: programs on the SDKs of YDB's coordination service run on a cluster of Signalbox through
// it, unmodified. It speaks their gRPC, and keeps nothing: any gateway takes any stream.
//
// Start with New, and read stream.go, which is one session of one client. DESIGN.md says why a lease of an SDK ends
// before its cluster gives away what it holds.
package ydb
