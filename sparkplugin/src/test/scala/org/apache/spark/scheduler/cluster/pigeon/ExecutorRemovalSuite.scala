package org.apache.spark.scheduler.cluster.pigeon

import scala.collection.JavaConverters._

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._

import org.apache.spark.{SecurityManager, SparkConf, SparkContext}
import org.apache.spark.rpc.{RpcAddress, RpcEndpoint, RpcEnv}
import org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages.RegisterExecutor
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend

import org.pigeonsched.spark.link.FakeFrontend
import org.pigeonsched.thrift.application.TExecutorState

/** The driver removes executors of which the daemons reported nothing while they ran. */
class ExecutorRemovalSuite extends AnyFunSuite with Eventually {

  override implicit val patienceConfig: PatienceConfig = PatienceConfig(60.seconds, 50.millis)

  private def withDriver(f: (SparkContext, FakeFrontend) => Unit): Unit = {
    val frontend = new FakeFrontend().start()
    val conf = new SparkConf(false)
      .setMaster(s"pigeon://${frontend.address}")
      .setAppName("removal")
      .set("spark.driver.host", "127.0.0.1")
      .set("spark.ui.enabled", "false")
      .set(Settings.ClassPath, "/none")
    try {
      val sc = new SparkContext(conf)
      try f(sc, frontend)
      finally sc.stop()
    } finally frontend.close()
  }

  // Returns the process of the executor, as far as the driver sees it.
  private def register(sc: SparkContext, id: String): RpcEnv = {
    val conf = sc.conf
    val env = RpcEnv.create(s"executor-$id", "127.0.0.1", 0, conf, new SecurityManager(conf), true)
    val self = env.setupEndpoint(
      "Executor",
      new RpcEndpoint {
        override val rpcEnv: RpcEnv = env
        override def receive: PartialFunction[Any, Unit] = { case _ => }
      })
    val driver = env.setupEndpointRef(
      RpcAddress("127.0.0.1", conf.get("spark.driver.port").toInt),
      CoarseGrainedSchedulerBackend.ENDPOINT_NAME)
    assert(driver.askSync[Boolean](
      RegisterExecutor(id, self, "127.0.0.1", 1, Map.empty, Map.empty, Map.empty, 0)))
    eventually(assert(sc.schedulerBackend.asInstanceOf[PigeonSchedulerBackend]
      .getExecutorIds() == Seq(id)))
    env
  }

  private def assertRemoved(sc: SparkContext): Unit =
    eventually(assert(sc.schedulerBackend.asInstanceOf[PigeonSchedulerBackend]
      .getExecutorIds().isEmpty))

  test("an executor whose connection breaks is removed after a while") {
    withDriver { (sc, _) =>
      register(sc, "7").shutdown()
      assertRemoved(sc)
    }
  }

  test("an executor that registers when its exit was reported is removed") {
    withDriver { (sc, frontend) =>
      def answers: Int = frontend.calls.asScala.count(_ == "news")
      val before = answers
      eventually {
        frontend.report(new TExecutorState("7", "n", "127.0.0.1", "exited", 1, "", "", "", false))
        assert(answers >= before + 3, "the driver has taken an answer with the exit")
      }
      register(sc, "7").shutdown()
      assertRemoved(sc)
    }
  }

  test("an executor is removed when the first report of it is its exit") {
    withDriver { (sc, frontend) =>
      val env = register(sc, "7")
      try {
        frontend.report(new TExecutorState("7", "n", "127.0.0.1", "exited", 1, "", "", "", false))
        assertRemoved(sc)
      } finally env.shutdown()
    }
  }
}
