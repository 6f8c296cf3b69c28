// Package protocol is what a client and a host of Signalbox say to each other: frames, messages,
// statuses, and the codec that turns them into bytes and back.
//
// The written form is docs/protocol.md; the examples in testdata/vectors bind both.
//
// Start with operations.go, the table of all messages: number, name, level and right of each. Messages are in files by
// what they are about, such as semaphore.go. codec.go says how a message names its fields.
//
// # Sending and receiving
//
// An Encoder appends whole frames to a buffer. ScanFrame finds the frames in what a connection has received; a
// RequestDecoder (in a host) or an AnswerDecoder (in a client) reads their payloads. All are meant to be kept for as
// long as the connection or its event loop; none may be used by two goroutines at a time.
//
//	encoder.Request(buf, id, &protocol.Ping{})
//
//	payload, size, err := protocol.ScanFrame(received, limit)
//	...
//	request, err := decoder.Decode(payload)
//	...
//	switch request.Kind {
//	case protocol.KindAcquire:
//		acquire(request.ID, &request.Acquire)
//	}
//
// # Caveats
//
// A message that was decoded belongs to its decoder and lasts until the next call. The texts, bytes and lists in it are
// views into the received frame: who keeps them copies them. Only the strings of a Result are copies.
//
// Decoding checks types, and the most that a field may hold; it names the field that offends. It does not check what
// only the state, or the meaning of a request, can show: that a name is not empty, or that a count is not 0.
//
// No frame can make decoding allocate more than twice its own size, however it was made.
package protocol
