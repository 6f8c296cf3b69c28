package transport

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/bytebufferpool"
)

func TestLinesAreEchoedHoweverTheyAreSplit(t *testing.T) {
	text := []byte("one\n\nthree is longer\n" + strings.Repeat("x", 300) + "\nfour\n")
	var splits [][]int
	for at := 1; at < len(text); at += 1 + at/40 {
		splits = append(splits, []int{at})
	}
	each := []int{}
	for at := 1; at < len(text); at++ {
		each = append(each, at)
	}
	splits = append(splits, each, nil)
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var split []int
		for at := 1 + random.IntN(20); at < len(text); at += 1 + random.IntN(60) {
			split = append(split, at)
		}
		splits = append(splits, split)
	}

	conform(t, func(f *fixture) {
		held := make(chan int, len(text))
		f.serve(func(c Conn) *script {
			s := echoLines(c)
			echo := s.data
			s.data = func(b []byte) int {
				consumed := echo(b)
				held <- consumed
				return consumed
			}
			return s
		})
		conn := f.connect()
		got := make([]byte, len(text))
		for _, split := range splits {
			start := 0
			for _, at := range append(split, len(text)) {
				if _, err := conn.Write(text[start:at]); err != nil {
					f.Fatal(err)
				}
				await(f, held, "Data") // so that the next piece does not join this one
				start = at
			}
			if _, err := io.ReadFull(conn, got); err != nil {
				f.Fatal(err)
			}
			if !bytes.Equal(got, text) {
				f.Fatalf("split at %v: got %q", split, got)
			}
		}
	})
}

func TestEachSendersOrderHoldsAndNothingIsLostOrTorn(t *testing.T) {
	const senders, lines, requests = 8, 2000, 300
	conform(t, func(f *fixture) {
		f.serve(func(c Conn) *script {
			var start sync.Once
			answered := 0
			answer := func(format string, args ...any) []byte {
				return fmt.Appendf(nil, format+" %s\n", append(args, strings.Repeat("=", answered%200))...)
			}
			return &script{data: func(b []byte) int {
				start.Do(func() {
					for sender := range senders {
						go func() {
							send := c.Send
							if sender%2 == 0 {
								send = func(buf *bytebufferpool.ByteBuffer) { queueAndFlush(c, buf) }
							}
							for i := range lines {
								send(pooled(fmt.Appendf(nil, "%d %d %s\n", sender, i, strings.Repeat("-", i%500))))
							}
						}()
					}
				})
				for range bytes.Count(b, []byte("\n")) {
					// The loop's own two ways to send count as one sender.
					c.Send(pooled(answer("%d %d", senders, 2*answered)))
					c.Send(pooled(answer("%d %d", senders, 2*answered+1)))
					answered++
				}
				return len(b)
			}}
		})
		conn := f.connect()
		go func() {
			for range requests {
				_, _ = conn.Write([]byte("?\n"))
			}
		}()
		next := make([]int, senders+1)
		reader := bufio.NewReader(conn)
		for range senders*lines + 2*requests {
			line, err := reader.ReadString('\n')
			if err != nil {
				f.Fatalf("after %v: %v", next, err)
			}
			var sender, i int
			var rest string
			if n, _ := fmt.Sscanf(line, "%d %d %s", &sender, &i, &rest); n < 2 || sender > senders {
				f.Fatalf("torn: %q", line)
			}
			if i != next[sender] {
				f.Fatalf("sender %d: %d came where %d was due", sender, i, next[sender])
			}
			next[sender]++
		}
	})
}

func TestMuchGoesBothWaysAtOnce(t *testing.T) {
	size := 24 << 20
	if testing.Short() {
		size = 4 << 20
	}
	conform(t, func(f *fixture) {
		f.serve(func(c Conn) *script {
			total := 0
			return &script{data: func(b []byte) int {
				consumed := len(b)
				if total+len(b) < size {
					consumed -= min(len(b), total%1500) // leave some for the next time
				}
				total += consumed
				c.Send(pooled(b[:consumed]))
				return consumed
			}}
		})
		conn := f.connect()
		var sent, received hash.Hash = sha256.New(), sha256.New()
		done := make(chan error, 1)
		go func() {
			_, err := io.CopyN(io.MultiWriter(conn, sent), rand.NewChaCha8([32]byte{1}), int64(size))
			done <- err
		}()
		if _, err := io.CopyN(received, conn, int64(size)); err != nil {
			f.Fatal(err)
		}
		if err := await(f, done, "the writing side"); err != nil {
			f.Fatal(err)
		}
		if !bytes.Equal(sent.Sum(nil), received.Sum(nil)) {
			f.Fatal("what came back is not what was sent")
		}
	})
}
