package transport

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const verdictHead = 3 // before the text

// sendVerdict sends this host's verdict on the peer, and returns a refusal.
func sendVerdict(conn io.Writer, key []byte, refusal *Refused) error {
	text := ""
	verdict := []byte{byte(codeNone), 0, 0}
	if refusal != nil {
		verdict[0], text = byte(refusal.Code), refusal.Text
	}
	binary.BigEndian.PutUint16(verdict[1:], uint16(len(text)))
	verdict = append(verdict, text...)
	if _, err := conn.Write(append(verdict, verdictMAC(key, verdict)...)); err != nil {
		return err
	}
	if refusal != nil {
		return refusal
	}
	return nil
}

// hear reads the peer's verdict. A refusal is reported to this host's owner.
func (t *Transport) hear(conn io.Reader, key []byte, g *greeting) error {
	refusal, err := readVerdict(conn, key)
	if err != nil {
		return fmt.Errorf("%w: the other host did not take the proof of the secret, its log says why: %w",
			errHandshake, err)
	}
	if refusal == nil {
		return nil
	}
	refusal.By = g.peer.Host
	if t.config.TurnedAway != nil && g.purpose != purposeUnnamed {
		t.config.TurnedAway(refusal)
	}
	return refusal
}

// readVerdict returns the peer's refusal, nil if the peer accepts this host. An error means that the verdict did not
// come from a host with the secret.
func readVerdict(conn io.Reader, key []byte) (*Refused, error) {
	verdict := make([]byte, verdictHead+maxRefusalText+sha256.Size)
	if _, err := io.ReadFull(conn, verdict[:verdictHead]); err != nil {
		return nil, err
	}
	size := int(binary.BigEndian.Uint16(verdict[1:]))
	if size > maxRefusalText {
		return nil, errors.New("bad verdict")
	}
	end := verdictHead + size
	if _, err := io.ReadFull(conn, verdict[verdictHead:end+sha256.Size]); err != nil {
		return nil, err
	}
	if !hmac.Equal(verdict[end:end+sha256.Size], verdictMAC(key, verdict[:end])) {
		return nil, errors.New("it has another secret")
	}
	if Code(verdict[0]) == codeNone {
		return nil, nil
	}
	return &Refused{Code: Code(verdict[0]), Text: string(verdict[verdictHead:end])}, nil
}

func verdictMAC(key, verdict []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(verdict)
	return mac.Sum(nil)
}

// judgeDialled decides whether to refuse a host that answered a dial.
func (t *Transport) judgeDialled(peer *Peer, meant Host) *Refused {
	if peer.Target() != meant.Target() {
		return refusef(CodeNotNow, "host %d of incarnation %s was meant: the address is another one's", meant.ID,
			meant.Incarnation)
	}
	return t.judge(peer)
}

// judgeAccepted decides whether to refuse a host that dialled.
func (t *Transport) judgeAccepted(g *greeting) *Refused {
	switch self := t.Identity(); {
	case g.purpose != purposeUnnamed && self.Host == 0:
		return notReady("this host has no id yet")
	case g.purpose == purposeFrames && t.engineEnd() == nil:
		return notReady("the log of this host is not open yet")
	case g.purpose == purposeUnnamed:
		g.peer.Identity = Identity{}
		return nil
	case g.purpose != purposeFrames && g.purpose != purposeCall && g.purpose != purposeCalls, g.peer.Host == 0:
		return refusef(CodeNotNow, "purpose %d of host %d", g.purpose, g.peer.Host)
	}
	return t.judge(&g.peer)
}

// judge decides whether to refuse a named host that has the secret.
func (t *Transport) judge(peer *Peer) *Refused {
	self := t.Identity()
	switch {
	case peer.Deployment != self.Deployment:
		return refusef(CodeOtherDeployment, "it is of deployment %d, this host of %d", peer.Deployment, self.Deployment)
	case peer.Generation.number() < self.Generation.number():
		return refusef(CodeOtherGeneration, "the cluster was made anew without it, of a backup or of what was left of "+
			"it: it is of generation %s, and this host of %s. What it has counts no more: give it an empty --data-dir "+
			"and join the cluster with signalbox serve --join", peer.Generation, self.Generation)
	case peer.Generation != self.Generation:
		return refusef(CodeOtherDeployment, "it is of generation %s of the cluster, this host of %s", peer.Generation,
			self.Generation)
	case peer.Host == self.Host:
		return refusef(CodeNotNow, "it says that it is host %d, which this host is", self.Host)
	}
	if refusal := t.checkCertificate(peer); refusal != nil {
		return refusal
	}
	admit := t.config.Admit
	if admit == nil {
		admit = t.admitByBook
	}
	return asRefused(admit(*peer))
}

// admitByBook admits the hosts in the address book.
func (t *Transport) admitByBook(peer Peer) error {
	switch h, known := t.lookUp(peer.Host); {
	case !known:
		return refusef(CodeUnknownHost, "it says that it is host %d, which is no host of the cluster", peer.Host)
	case h.Incarnation != peer.Incarnation:
		return refusef(CodeOtherIncarnation, "host %d has the incarnation %s, and it says %s", h.ID, h.Incarnation,
			peer.Incarnation)
	case peer.Behind != nil:
		return &Refused{Code: CodeOlderCopy, Text: peer.Behind.Error()}
	}
	return nil
}

// checkCertificate returns a refusal if the peer's certificate does not contain the host's name. The TLS handshake has
// checked the authority's signature.
func (t *Transport) checkCertificate(peer *Peer) *Refused {
	leaf := peer.Certificate
	if leaf == nil {
		return nil
	}
	h, known := t.lookUp(peer.Host)
	if !known && t.config.Admit != nil {
		return nil // Admit may know the name, and a better refusal
	}
	if !known {
		return refusef(CodeUnknownHost, "it says that it is host %d, whose name is not known", peer.Host)
	}
	if !peer.CertifiedAs(h.Name) {
		return refusef(CodeOtherCertificate, "its certificate is of %q and %q, and the name of host %d is %q",
			leaf.Subject.CommonName, leaf.DNSNames, h.ID, h.Name)
	}
	return nil
}
