package transport

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Position is how far a replica's log reaches.
type Position = hosts.Position

const (
	positionBytes = 32
	// maxPositions bounds a host's positions, and the memory for them.
	maxPositions  = 1 << 15
	positionsHead = 4
)

// exchange is the handshake part in which two hosts with running engines send their replica positions. A host refuses a
// peer whose positions are behind the positions confirmed earlier. A build without this part has 0 in byte 7 of the
// hello. A nil exchange does nothing.
type exchange struct {
	replicas Replicas
	behind   func([]Position) error
}

// offer marks a hello if this host exchanges positions. The peer's confirmations up to now count: the peer sends
// positions later, so they include later confirmations.
func (t *Transport) offer(h *hello, peer shard.HostID) *exchange {
	end := t.engineEnd()
	if end == nil || h.purpose() != purposeFrames {
		return nil
	}
	h[helloOffer] = offersPositions
	return &exchange{replicas: end.replicas, behind: end.replicas.Behind(peer)}
}

// with returns the exchange with a hello's sender.
func (e *exchange) with(theirs *hello) *exchange {
	if theirs[helloOffer] != offersPositions {
		return nil
	}
	return e
}

// say sends this host's positions: a count, the positions, and a MAC over both.
func (e *exchange) say(conn io.Writer, key []byte) error {
	if e == nil {
		return nil
	}
	list := e.replicas.Positions()
	text := binary.BigEndian.AppendUint32(nil, uint32(len(list)))
	for _, p := range list {
		for _, v := range []uint64{p.Shard, p.Replica, p.Term, p.Last} {
			text = binary.BigEndian.AppendUint64(text, v)
		}
	}
	_, err := conn.Write(append(text, verdictMAC(key, text)...))
	return err
}

// hear reads the peer's positions, and notes whether a confirmed position is ahead.
func (e *exchange) hear(conn io.Reader, key []byte, peer *Peer) error {
	if e == nil {
		return nil
	}
	list, err := readPositions(conn, key)
	if err != nil {
		return fmt.Errorf("%w: the positions of %s: %w", errHandshake, peer, err)
	}
	peer.Behind = e.behind(list)
	return nil
}

func readPositions(conn io.Reader, key []byte) (list []Position, err error) {
	text := make([]byte, positionsHead)
	if _, err := io.ReadFull(conn, text); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(text)
	if n > maxPositions {
		return nil, fmt.Errorf("there are %d", n)
	}
	text = append(text, make([]byte, int(n)*positionBytes+sha256.Size)...)
	if _, err := io.ReadFull(conn, text[positionsHead:]); err != nil {
		return nil, err
	}
	end := len(text) - sha256.Size
	if !hmac.Equal(text[end:], verdictMAC(key, text[:end])) {
		return nil, errors.New("they have another MAC")
	}
	for b := text[positionsHead:end]; len(b) > 0; b = b[positionBytes:] {
		number := func(i int) uint64 { return binary.BigEndian.Uint64(b[8*i:]) }
		list = append(list, Position{Shard: number(0), Replica: number(1), Term: number(2), Last: number(3)})
	}
	return list, nil
}
