package http

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestALongListIsReadToItsEndInBoundedMemory: two concurrent callers read a list larger than 128 MiB in pages, with
// each semaphore once. The heap grows only by a fraction of the list, and shrinks again.
func TestALongListIsReadToItsEndInBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes and reads hundreds of mebibytes")
	}
	const semaphores, least, readers, most, left = 2300, 128 << 20, 2, 96 << 20, 16 << 20
	d := newDoor(t, nil, nil)
	d.fill(semaphores)
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // garbage is a small part of the heap
	before := heapInUse()
	var highest atomic.Uint64
	done := make(chan struct{})
	var watching, reading sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				highest.Store(max(highest.Load(), now.HeapAlloc))
			}
		}
	})
	for i := range readers {
		reading.Go(func() {
			read, size := d.readAll(fmt.Sprintf("127.0.3.%d", i+1))
			if read != semaphores || size < least {
				t.Errorf("%d semaphores of %d bytes", read, size)
			}
		})
	}
	reading.Wait()
	close(done)
	watching.Wait()
	after := heapInUse()
	grown := int64(highest.Load()) - int64(before)
	t.Logf("the heap has %d MiB, %d more meanwhile, and %d afterwards", before>>20, grown>>20, after>>20)
	if grown > most+int64(before)/10 {
		t.Errorf("the heap grows from %d by %d bytes", before, grown)
	}
	if after > before+left {
		t.Errorf("the heap grows from %d to %d bytes", before, after)
	}
	await(t, "no answer takes memory", func() bool { return d.answersTake() == 0 })
}

// heapInUse returns the heap's size without garbage.
func heapInUse() uint64 {
	var now runtime.MemStats
	for range 2 { // the second collection frees the pools' remaining memory
		runtime.GC()
	}
	runtime.ReadMemStats(&now)
	return now.HeapAlloc
}

// readAll reads fill's list from an address, page by page, and returns the semaphore and byte counts. Like a program,
// readAll repeats a page that a busy machine did not produce in time.
func (d *door) readAll(from string) (read, size int) {
	by, end := d.customer(from), time.Now().Add(patience)
	for cursor := ""; ; {
		address := "http://" + d.Addr().String() + largeList + "&cursor=" + url.QueryEscape(cursor)
		r, err := http.NewRequestWithContext(d.Context(), http.MethodGet, address, nil)
		if err != nil {
			d.Error(err)
			return read, size
		}
		answer, err := by.Do(r)
		if err != nil {
			d.Error(err)
			return read, size
		}
		if answer.StatusCode == http.StatusServiceUnavailable && time.Now().Before(end) {
			answer.Body.Close()
			continue
		}
		if answer.StatusCode != http.StatusOK {
			d.Errorf("status %d after %d semaphores", answer.StatusCode, read)
		}
		cursor = ""
		parts := bufio.NewScanner(answer.Body)
		parts.Split(untilQuote)
		for last, key := "", ""; parts.Scan(); {
			text := parts.Text()
			size += len(text) + 1
			if last == ":" && key == "name" {
				if want := fmt.Sprintf("s%04d", read); text != want {
					d.Errorf("semaphore %d is %s", read, text)
				}
				read++
			}
			if last == ":" && key == "cursor" {
				cursor = text
			}
			if text != ":" {
				key = text
			}
			last = text
		}
		answer.Body.Close()
		if cursor == "" {
			return read, size
		}
	}
}

// untilQuote splits JSON with escape-free texts at the quotes, and cuts long texts.
func untilQuote(data []byte, atEnd bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '"'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEnd && len(data) == 0 {
		return 0, nil, nil
	}
	if atEnd || len(data) >= 32<<10 {
		return len(data), data, nil
	}
	return 0, nil, nil
}
