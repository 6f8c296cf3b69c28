// Package ydb is a gateway that lets unmodified programs with YDB's coordination SDKs use a Signalbox cluster. The
// gateway speaks the SDKs' gRPC protocol and stores nothing: every gateway accepts every stream.
//
// Start with New, and read stream.go, which handles a single client session. DESIGN.md explains why an SDK's lease ends
// before the cluster gives the SDK's semaphores away.
package ydb
