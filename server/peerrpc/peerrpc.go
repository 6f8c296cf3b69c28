// Package peerrpc is the form of a call between two hosts: a request and its answer, both payloads of frames of
// package protocol. The transport of the calls numbers the calls, and sends the payloads.
//
// Start with Request and Result, which a caller encodes and reads. Answer and Failure are for the host that is called.
//
// A host that is in no cluster yet calls without a name (CallUnnamed), with messages of packages bootstrap and join.
// Such a host proves its secret or join token for the connection (Transcript).
package peerrpc

import (
	"fmt"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/valyala/bytebufferpool"
)

// id is the id of every request: a payload holds one exchange, and the transport has a number for each call.
const id = 1

// Request encodes a request.
func Request(m protocol.RequestMessage) []byte {
	var buf bytebufferpool.ByteBuffer
	protocol.NewEncoder().Request(&buf, id, m)
	return buf.B[protocol.FrameHeaderBytes:]
}

// Read reads a request, which holds views into the payload.
func Read(payload []byte) (*protocol.Request, error) {
	return protocol.NewRequestDecoder(0).Decode(payload)
}

// Answer encodes the answer to a request after success.
func Answer(m protocol.AnswerMessage) []byte {
	var buf bytebufferpool.ByteBuffer
	protocol.NewEncoder().Answer(&buf, id, m)
	return buf.B[protocol.FrameHeaderBytes:]
}

// Failure encodes the answer to a request that failed. A message above the limit is cut.
func Failure(kind protocol.Kind, result protocol.Result) []byte {
	cut := result.Message[:min(len(result.Message), protocol.MaxMessageBytes)]
	result.Message = strings.ToValidUTF8(cut, "")
	var buf bytebufferpool.ByteBuffer
	protocol.NewEncoder().Failure(&buf, id, kind, &result)
	return buf.B[protocol.FrameHeaderBytes:]
}

// Result reads the answer to a request of a kind. A failure at the other host is in the answer's Result, and no error.
func Result(kind protocol.Kind, payload []byte) (*protocol.Answer, error) {
	a, err := protocol.NewAnswerDecoder().Decode(payload)
	if err != nil {
		return nil, fmt.Errorf("peerrpc: the answer to %v: %w", kind, err)
	}
	if a.Kind != kind.Answer() {
		return nil, fmt.Errorf("peerrpc: %v answers %v", a.Kind, kind)
	}
	return a, nil
}
