package console_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds the wait for an event that must come.
const patience = 2 * time.Minute

// browser is a page of a headless Chromium, driven by its DevTools protocol.
type browser struct {
	*testing.T
	conn  net.Conn
	input *bufio.Reader

	mu       sync.Mutex
	next     int
	waiting  map[int]chan reply
	problems []string      // complaints of the page's console and of its requests
	asked    []string      // the addresses of all requests
	asks     chan struct{} // has a value after a new request
}

// reply is the browser's answer to a command.
type reply struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// openBrowser starts a browser for the test's duration. Without a browser on this machine the test is skipped.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	if !*inBrowser {
		t.Skip("it needs a browser: make console")
	}
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		t.Skip("there is no Chromium on this machine: apt-get install chromium")
	}
	dir, err := os.MkdirTemp("", "console") // the browser may still write to the directory after its end
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, program, "--headless", "--no-sandbox", "--disable-gpu",
		"--disable-dev-shm-usage",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--hide-scrollbars", "--remote-debugging-port=0", "--user-data-dir="+dir, "about:blank")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	if err := command.Start(); err != nil {
		t.Skipf("the browser does not start: %v", err)
	}
	t.Cleanup(func() {
		cancel()
		_ = command.Wait()
	})
	b := &browser{T: t, waiting: make(map[int]chan reply), asks: make(chan struct{}, 1)}
	b.connect(filepath.Join(dir, "DevToolsActivePort"))
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		b.do(domain+".enable", nil)
	}
	return b
}

// connect connects to the browser's first page, by the address in the browser's file.
func (b *browser) connect(file string) {
	b.Helper()
	var address string
	for end := time.Now().Add(patience); address == ""; time.Sleep(10 * time.Millisecond) {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), "\n") {
			address = "127.0.0.1:" + strings.SplitN(string(text), "\n", 2)[0]
		} else if time.Now().After(end) {
			b.Skip("the browser of this machine does not start")
		}
	}
	answer, err := http.Get("http://" + address + "/json/list")
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	var pages []struct {
		Type string
		URL  string `json:"webSocketDebuggerUrl"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&pages); err != nil || len(pages) == 0 {
		b.Fatalf("%v %v", pages, err)
	}
	at, err := url.Parse(pages[0].URL)
	if err != nil {
		b.Fatal(err)
	}
	if b.conn, err = net.Dial("tcp", address); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { b.conn.Close() })
	fmt.Fprintf(b.conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n", at.Path, address,
		base64.StdEncoding.EncodeToString([]byte(rand.Text()[:16])))
	b.input = bufio.NewReader(b.conn)
	if upgraded, err := http.ReadResponse(b.input, nil); err != nil || upgraded.StatusCode != 101 {
		b.Fatalf("%v %v", upgraded, err)
	}
	go b.read()
}

// do sends a command and returns its result.
func (b *browser) do(method string, parameters any) json.RawMessage {
	b.Helper()
	answer := make(chan reply, 1)
	b.mu.Lock()
	b.next++
	id := b.next
	b.waiting[id] = answer
	text, err := json.Marshal(map[string]any{"id": id, "method": method, "params": parameters})
	if err == nil {
		err = writeFrame(b.conn, text)
	}
	b.mu.Unlock()
	if err != nil {
		b.Fatal(err)
	}
	select {
	case r := <-answer:
		if r.Error != nil {
			b.Fatalf("%s: %s", method, r.Error.Message)
		}
		return r.Result
	case <-time.After(patience):
		b.Fatalf("%s is not answered", method)
	}
	return nil
}

// into is do for a command with a result to decode.
func (b *browser) into(method string, parameters, result any) {
	b.Helper()
	if err := json.Unmarshal(b.do(method, parameters), result); err != nil {
		b.Fatal(err)
	}
}

// writeFrame writes a text to a websocket, as a client has to: masked, here with zeros.
func writeFrame(w io.Writer, text []byte) error {
	frame := []byte{0x81, 0x80 | 127}
	frame = binary.BigEndian.AppendUint64(frame, uint64(len(text)))
	frame = append(frame, 0, 0, 0, 0)
	_, err := w.Write(append(frame, text...))
	return err
}

// readMessage reads a text of one frame or more.
func readMessage(r *bufio.Reader) (text []byte, err error) {
	for {
		var head [2]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return nil, err
		}
		length := uint64(head[1] & 127)
		if size := map[uint64]int{126: 2, 127: 8}[length]; size > 0 {
			long := make([]byte, 8)
			if _, err := io.ReadFull(r, long[8-size:]); err != nil {
				return nil, err
			}
			length = binary.BigEndian.Uint64(long)
		}
		part := make([]byte, length)
		if _, err := io.ReadFull(r, part); err != nil {
			return nil, err
		}
		if text = append(text, part...); head[0]&0x80 != 0 {
			return text, nil
		}
	}
}

// read reads answers and events until the browser ends.
func (b *browser) read() {
	for {
		text, err := readMessage(b.input)
		if err != nil {
			return
		}
		var m struct {
			ID     int
			Method string
			Params struct {
				Request          struct{ URL string }
				Entry            struct{ Level, Text, URL string }
				ExceptionDetails json.RawMessage
			}
			reply
		}
		if json.Unmarshal(text, &m) != nil {
			continue
		}
		b.mu.Lock()
		switch m.Method {
		case "":
			if w := b.waiting[m.ID]; w != nil {
				delete(b.waiting, m.ID)
				w <- m.reply
			}
		case "Network.requestWillBeSent":
			b.asked = append(b.asked, m.Params.Request.URL)
			select {
			case b.asks <- struct{}{}:
			default:
			}
		case "Log.entryAdded":
			if m.Params.Entry.Level == "error" {
				b.problems = append(b.problems, m.Params.Entry.Text+" "+m.Params.Entry.URL)
			}
		case "Runtime.exceptionThrown":
			b.problems = append(b.problems, string(m.Params.ExceptionDetails))
		}
		b.mu.Unlock()
	}
}

// evaluate returns an expression's value in the page, as text.
func (b *browser) evaluate(expression string) string {
	b.Helper()
	var result struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	text := b.do("Runtime.evaluate", map[string]any{
		"expression": expression, "returnByValue": true, "awaitPromise": true,
	})
	if err := json.Unmarshal(text, &result); err != nil || result.ExceptionDetails != nil {
		b.Fatalf("%s: %v %s", expression, err, result.ExceptionDetails)
	}
	return fmt.Sprint(result.Result.Value)
}

// await waits until an expression in the page is true.
func (b *browser) await(expression string) {
	b.Helper()
	for end := time.Now().Add(patience); b.evaluate(expression) != "true"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("it does not come to %s; the page has\n%s\nand says %q", expression,
				b.evaluate("document.body.innerText"), b.problems)
		}
	}
}

// awaitText waits until the page shows a text.
func (b *browser) awaitText(text string) {
	b.Helper()
	b.await(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// visit opens an address.
func (b *browser) visit(address string) {
	b.Helper()
	b.do("Page.navigate", map[string]any{"url": address})
	b.await(fmt.Sprintf("location.href === %q && document.readyState === 'complete'", address))
}

// press presses a key, such as Tab, with its typed text.
func (b *browser) press(key, text string) {
	b.Helper()
	code := map[string]int{"Tab": 9, "Enter": 13}[key]
	for _, kind := range []string{"keyDown", "keyUp"} {
		b.do("Input.dispatchKeyEvent", map[string]any{
			"type": kind, "key": key, "code": key, "text": text, "windowsVirtualKeyCode": code,
		})
	}
}

// fill types into a field of the dialog and presses the confirming button.
func (b *browser) fill(field, text string) {
	b.Helper()
	b.await(fmt.Sprintf("!!document.querySelector('dialog [name=%s]')", field))
	b.evaluate(fmt.Sprintf("document.querySelector('dialog [name=%s]').value = %q", field, text))
	b.evaluate("document.querySelector('dialog button[type=submit]').click()")
}

// click clicks the page's first button with a word.
func (b *browser) click(word string) {
	b.Helper()
	button := fmt.Sprintf("[...document.querySelectorAll('main button')].find((one) => one.textContent === %q)", word)
	b.await("!!" + button)
	b.evaluate(button + ".click()")
}

// look sets the page's theme and width.
func (b *browser) look(theme string, width int) {
	b.Helper()
	b.do("Emulation.setEmulatedMedia", map[string]any{
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": theme}},
	})
	b.do("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500,
	})
}

// shoot saves a picture of the page.
func (b *browser) shoot(file string) {
	b.Helper()
	var shot struct{ Data []byte }
	if err := json.Unmarshal(b.do("Page.captureScreenshot", map[string]any{"format": "png"}), &shot); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(file, shot.Data, 0o644); err != nil {
		b.Fatal(err)
	}
}
