package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"time"

	"github.com/signalbox/signalbox/internal/subprocess"
)

// driver is the program around a client. The play's lock guards the fields.
type driver struct {
	process *subprocess.Process
	input   io.WriteCloser
	hello   object
	can     []string
	ended   bool
}

// command is a command to the driver.
type command struct {
	sent  time.Time
	reply object // nil until the reply came
	at    time.Time
}

// event is a driver line other than a reply.
type event struct {
	values object
	at     time.Time
	used   bool
}

// maxLine bounds a driver's line.
const maxLine = 1 << 20

// launch starts the driver. The process is killed with the player, on Linux by the system itself. Standard error is
// kept for people, standard output is read line by line.
func (p *play) launch(args []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	reader, writer := io.Pipe()
	cmd.Stdout = writer
	process, err := subprocess.Launch("the driver", cmd)
	if err != nil {
		return err
	}
	p.driver = &driver{process: process, input: input}
	p.readers.Go(func() {
		<-process.Gone()
		_ = writer.Close()
		p.locked(func() {
			p.note("the driver has ended")
			p.driver.ended = true
			p.wake()
		})
	})
	p.readers.Go(func() {
		lines := bufio.NewScanner(reader)
		lines.Buffer(nil, maxLine)
		for lines.Scan() {
			p.locked(func() { p.hear(lines.Bytes()) })
		}
		if err := lines.Err(); err != nil {
			p.locked(func() { p.violate("a line of the driver: %v", err) })
		}
		_, _ = io.Copy(io.Discard, reader)
	})
	return nil
}

// hear handles a driver line: the hello, an event, or a reply. Driver errors break a rule like client errors, because a
// script cannot distinguish the two.
func (p *play) hear(line []byte) {
	p.note("driver: %s", line)
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var values object
	if err := d.Decode(&values); err != nil {
		p.violate("the driver says what is no JSON object: %s", line)
		return
	}
	now := time.Now()
	switch id, _ := values["id"].(string); {
	case values["driver"] != nil:
		p.driver.hello = values
		list, _ := values["can"].([]any)
		for _, what := range list {
			if text, ok := what.(string); ok {
				p.driver.can = append(p.driver.can, text)
			}
		}
	case values["event"] != nil:
		p.events = append(p.events, &event{values: values, at: now})
	case p.commands[id] == nil:
		p.violate("the driver replies to %q, which is no command", id)
	case p.commands[id].reply != nil:
		p.violate("the driver replies twice to %q", id)
	case values["ok"] != true && values["error"] == nil:
		p.violate("the driver's reply to %q is neither ok nor an error", id)
	default:
		p.commands[id].reply, p.commands[id].at = values, now
	}
	p.wake()
}

// command sends a command. The write happens without the lock, because a stopped driver reads nothing and the pipe may
// be full. Hosts and events go on meanwhile.
func (p *play) command(id, do string, with object) error {
	line := object{"id": id, "do": do}
	for name, value := range with {
		line[name] = wide(p.expand(value))
	}
	if do == "connect" && line["addresses"] == nil {
		var list []any
		for _, h := range p.hosts {
			list = append(list, h.address())
		}
		line["addresses"] = list
	}
	if p.commands[id] != nil {
		return fmt.Errorf("the script cannot be played: two commands have the id %s", id)
	}
	b, err := json.Marshal(line)
	if err != nil {
		return err
	}
	p.note("command: %s", b)
	p.commands[id] = &command{sent: time.Now()}
	input := p.driver.input
	p.mu.Unlock()
	_, err = input.Write(append(b, '\n'))
	p.mu.Lock()
	if err != nil {
		return fmt.Errorf("the driver does not take commands: %w", err)
	}
	return nil
}

// wide writes numbers beyond a double's precision as strings.
func wide(v any) any {
	if n, ok := v.(uint64); ok && n > 1<<53-1 {
		return fmt.Sprint(n)
	}
	return v
}

// lacks is the first ability that the script needs and the driver lacks, or empty.
func (d *driver) lacks(needs []string) string {
	needs = slices.DeleteFunc(slices.Clone(needs), func(what string) bool { return slices.Contains(d.can, what) })
	return append(needs, "")[0]
}

// end kills the driver, also a stopped process.
func (d *driver) end() {
	_ = d.input.Close()
	d.process.Kill()
	<-d.process.Gone()
}
