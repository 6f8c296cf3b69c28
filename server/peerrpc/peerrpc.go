// Package peerrpc defines the form of a call between two hosts: a request and its answer, both payloads of frames in
// package protocol. The call transport numbers the calls, and sends the payloads.
//
// Start with Request and Result, with which a caller encodes a request and reads the result. Answer and Failure are
// for the called host.
//
// A host that is in no cluster yet calls without a name (CallUnnamed), with messages from packages bootstrap and
// join. Such a host proves its secret or join token for the connection (Transcript).
package peerrpc

import (
	"fmt"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/valyala/bytebufferpool"
)

// id is the id of every request: a payload contains one exchange, and the transport numbers the calls.
const id = 1

// Request encodes a request.
func Request(m protocol.RequestMessage) []byte {
	var buf bytebufferpool.ByteBuffer
	protocol.NewEncoder().Request(&buf, id, m)
	return buf.B[protocol.FrameHeaderBytes:]
}

// Read reads a request. The request aliases the payload.
func Read(payload []byte) (*protocol.Request, error) {
	return protocol.NewRequestDecoder(0).Decode(payload)
}

// Answer encodes the answer to a successful request.
func Answer(m protocol.AnswerMessage) []byte {
	var buf bytebufferpool.ByteBuffer
	protocol.NewEncoder().Answer(&buf, id, m)
	return buf.B[protocol.FrameHeaderBytes:]
}

// Failure encodes the answer to a failed request. A message above the size limit is truncated.
func Failure(kind protocol.Kind, result protocol.Result) []byte {
	cut := result.Message[:min(len(result.Message), protocol.MaxMessageBytes)]
	result.Message = strings.ToValidUTF8(cut, "")
	var buf bytebufferpool.ByteBuffer
	protocol.NewEncoder().Failure(&buf, id, kind, &result)
	return buf.B[protocol.FrameHeaderBytes:]
}

// Result reads the answer to a request kind. A failure on the other host is in the answer's Result, and is not an
// error.
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
