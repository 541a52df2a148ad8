package org.apache.spark.scheduler.cluster.pigeon;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;

/** The lines of Spark (3.5, 4.0, ...) that this jar serves, and the check of a version. */
final class SparkLine {

  private SparkLine() {}

  /** Returns the version of the Spark that runs this code, for instance 4.1.3. */
  static String running() {
    return org.apache.spark.package$.MODULE$.SPARK_VERSION();
  }

  /** Returns the line of a version: 4.1 for 4.1.3-SNAPSHOT. */
  static String of(String version) {
    String[] parts = version.split("[.-]");
    return parts.length < 2 ? version : parts[0] + "." + parts[1];
  }

  /**
   * Refuses a Spark that the jar was not built for, in four parts.
   */
  static void check(String version) {
    Properties built = built();
    List<String> lines = Arrays.asList(built.getProperty("lines").split(","));
    if (!lines.contains(of(version))) {
      throw new IllegalStateException("This jar of Pigeon does not serve Spark " + version + "."
          + " The jar is " + built.getProperty("jar") + ", for Spark "
          + String.join(", ", lines) + " with Scala " + built.getProperty("scala") + "."
          + " Nothing was started." + advice(of(version)));
    }
  }

  private static String advice(String line) {
    switch (line) {
      case "3.5":
        return " Use pigeon-spark-3.5_2.12.jar.";
      case "4.0":
      case "4.1":
      case "4.2":
        return " Use pigeon-spark-4_2.13.jar.";
      case "4.3":
        return " Use pigeon-spark-4.3_2.13.jar.";
      default:
        return " Use Spark 3.5, 4.0, 4.1, 4.2 or 4.3, each with its jar;"
            + " docs/spark.md lists what is supported.";
    }
  }

  private static Properties built() {
    Properties built = new Properties();
    try (InputStream in = SparkLine.class.getResourceAsStream("/pigeon-spark.properties")) {
      built.load(in);
    } catch (IOException e) {
      throw new IllegalStateException("pigeon-spark.properties in the jar of Pigeon cannot be"
          + " read. The jar is damaged; build it again with 'make spark'.", e);
    }
    return built;
  }
}
