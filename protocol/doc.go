// Package protocol is what a client and a host of Signalbox say to each other: frames, messages,
// statuses, and the codec that turns them into bytes and back.
//
// The written form is docs/protocol.md; the examples in testdata/vectors bind both.
package protocol
