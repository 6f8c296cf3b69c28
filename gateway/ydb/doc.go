// Package ydb is a gateway that lets unmodified programs on the SDKs of YDB's coordination service use a Signalbox
// cluster. The gateway speaks the SDKs' gRPC and stores nothing: every gateway accepts every stream.
//
// Start with New, and read stream.go, about a single session of a client. DESIGN.md says why the lease of an SDK ends
// before the cluster gives the SDK's semaphores away.
package ydb
