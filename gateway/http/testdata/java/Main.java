// What a Java program does with the client that is generated from the OpenAPI document: a session takes a lock, a second
// session waits for the lock, and receives it after the release.
import java.net.URI;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import signalbox.ApiClient;
import signalbox.ApiException;
import signalbox.api.NodesApi;
import signalbox.api.OwnSessionsApi;
import signalbox.api.SemaphoresApi;
import signalbox.model.AcquireRequest;
import signalbox.model.Acquisition;
import signalbox.model.Acquisition.OutcomeEnum;
import signalbox.model.NodeRequest;
import signalbox.model.ReleaseRequest;
import signalbox.model.StartRequest;

public class Main {
  static final String NODE = "/generated";
  static final ApiClient client = new ApiClient();
  static final OwnSessionsApi sessions;

  static {
    URI address = URI.create(System.getenv("SIGNALBOX_HTTP"));
    client.setScheme(address.getScheme()).setHost(address.getHost()).setPort(address.getPort());
    sessions = new OwnSessionsApi(client);
  }

  public static void main(String[] args) throws Exception {
    new NodesApi(client).postNodeCreate(new NodeRequest().node(NODE), null);
    String first = session(), second = session();

    Acquisition held = acquire(first, null);
    check(held.getOutcome() == OutcomeEnum.ACQUIRED && held.getFence() != null, held);
    Acquisition queued = acquire(second, 0L);
    check(queued.getOutcome() == OutcomeEnum.WAITING, queued);

    // The second session waits, under its sequence number, until the first session releases the lock.
    CompletableFuture<Acquisition> waiting = CompletableFuture.supplyAsync(() -> {
      try {
        return acquire(second, null);
      } catch (ApiException e) {
        throw new RuntimeException(e);
      }
    });
    check(sessions.postSemaphoreRelease(first, release(), "2", null).getReleased(), "release");
    Acquisition next = waiting.get();
    check(next.getOutcome() == OutcomeEnum.ACQUIRED, next);
    check(Long.parseLong(next.getFence()) > Long.parseLong(held.getFence()), next);
    check(sessions.postSemaphoreRelease(second, release(), "2", null).getReleased(), "release");
    check(!sessions.postSemaphoreRelease(second, release(), "3", null).getReleased(), "second release");
    for (String session : new String[] {first, second}) {
      check(sessions.postSessionClose(session, Map.of()).getChanged(), "close");
    }

    try {
      new SemaphoresApi(client).getSemaphore(NODE, "none", null, null, null);
      check(false, "a missing semaphore");
    } catch (ApiException e) {
      check(e.getCode() == 404 && e.getResponseBody().contains("NOT_FOUND"), e);
    }
    System.out.println("the generated client works");
  }

  static String session() throws ApiException {
    return sessions.postSessionCreate(new StartRequest().node(NODE).timeoutMs(30000L)).getSession();
  }

  // acquire takes the lock with the sequence number 1, so a repeated call continues the same wait.
  static Acquisition acquire(String session, Long pollMs) throws ApiException {
    AcquireRequest request = new AcquireRequest().node(NODE).name("lock").ephemeral(true).pollMs(pollMs);
    return sessions.postSemaphoreAcquire(session, request, "1", null);
  }

  static ReleaseRequest release() {
    return new ReleaseRequest().node(NODE).name("lock");
  }

  static void check(boolean holds, Object what) {
    if (!holds) {
      throw new AssertionError(what);
    }
  }
}
