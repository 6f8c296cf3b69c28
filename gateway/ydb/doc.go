// Package ydb is a gateway: through the gateway, unmodified programs on the SDKs of YDB's coordination service run on
// a cluster of Signalbox. The gateway speaks the SDKs' gRPC, and stores nothing: every gateway takes every stream.
//
// Start with New, and read stream.go, about a single session of a client. DESIGN.md says why the lease of an SDK ends
// before the cluster gives the SDK's semaphores away.
package ydb
