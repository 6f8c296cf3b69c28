// Package hostcall is the form of a call between two hosts: a request and its answer, each of them the payload of a
// frame of package protocol. How it gets to the other host is not its business.
//
// Start with Request and Result: what the one that calls encodes and reads. Answer and Failure are for the one that is
// called.
package hostcall

import (
	"fmt"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/valyala/bytebufferpool"
)

// id is that of every request: each call has an exchange of its own.
const id = 1

// Request encodes a request.
func Request(m protocol.RequestMessage) []byte {
	var buf bytebufferpool.ByteBuffer
	protocol.NewEncoder().Request(&buf, id, m)
	return buf.B[protocol.FrameHeaderBytes:]
}

// Read reads a request. What it holds are views into the payload.
func Read(payload []byte) (*protocol.Request, error) {
	return protocol.NewRequestDecoder(0).Decode(payload)
}

// Answer encodes the answer to a request that was carried out.
func Answer(m protocol.AnswerMessage) []byte {
	var buf bytebufferpool.ByteBuffer
	protocol.NewEncoder().Answer(&buf, id, m)
	return buf.B[protocol.FrameHeaderBytes:]
}

// Failure encodes the answer to a request that was not carried out. A message that is too long is cut.
func Failure(kind protocol.Kind, result protocol.Result) []byte {
	cut := result.Message[:min(len(result.Message), protocol.MaxMessageBytes)]
	result.Message = strings.ToValidUTF8(cut, "")
	var buf bytebufferpool.ByteBuffer
	protocol.NewEncoder().Failure(&buf, id, kind, &result)
	return buf.B[protocol.FrameHeaderBytes:]
}

// Result reads the answer to a request of a kind. That it was not carried out is in its Result, and no error.
func Result(kind protocol.Kind, payload []byte) (*protocol.Answer, error) {
	a, err := protocol.NewAnswerDecoder().Decode(payload)
	if err != nil {
		return nil, fmt.Errorf("hostcall: the answer to %v: %w", kind, err)
	}
	if a.Kind != kind.Answer() {
		return nil, fmt.Errorf("hostcall: %v answers %v", a.Kind, kind)
	}
	return a, nil
}
